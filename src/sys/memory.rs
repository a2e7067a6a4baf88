//! Giving memory back to the system.

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
