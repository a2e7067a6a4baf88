//! Giving memory back to the system, and asking how much is in use.

/// Gives back what the allocator keeps for later. Loading a model frees hundreds
/// of MiB that glibc would hold on to; elsewhere this does nothing.
pub fn release_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: malloc_trim(3) may be called at any time from any thread.
        #[expect(unsafe_code, reason = "the standard library has no such call")]
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// Resident memory of this process in MiB; nothing where the system does not tell.
pub fn resident_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}
