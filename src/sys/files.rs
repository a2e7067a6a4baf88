//! Private files and folders.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// `f_type` of file systems on which SQLite's shared memory is not safe, from
/// statfs(2): NFS, SMB, SMB2, CIFS, AFS, Coda, Ceph, 9P, Lustre.
const NETWORK_FILE_SYSTEMS: &[u64] = &[
    0x6969,
    0x517B,
    0xFE53_4D42,
    0xFF53_4D42,
    0x5346_414F,
    0x7375_7245,
    0x00C3_6400,
    0x0102_1997,
    0x0BD0_0BD0,
];

/// Creates an empty file that only its owner can read; fails when it exists.
pub fn create_private_file(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// Creates a folder and its parents, each for their owner only.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file that only its owner can read: whole or not at all.
pub fn write_private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ignored_second_failure = fs::remove_file(&draft);
    }
    written
}

/// Whether `folder` lies on a network file system. Unknown counts as local.
pub fn is_on_network(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(folder)
            .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(is_network_type))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _no_way_to_tell = folder;
        false
    }
}

fn is_network_type(file_system: u64) -> bool {
    // Some architectures sign-extend the 32-bit constant.
    NETWORK_FILE_SYSTEMS.contains(&(file_system & 0xFFFF_FFFF))
}

#[cfg(test)]
mod tests {
    use super::{is_network_type, is_on_network, write_private_file};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn nfs_is_a_network_file_system_and_ext4_is_not() {
        assert!(is_network_type(0x6969));
        assert!(!is_network_type(0xEF53));
        assert!(!is_on_network(&std::env::temp_dir()));
    }

    #[test]
    fn a_written_file_is_private_and_replaces_the_old_one_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        write_private_file(&path, b"a long first text").unwrap();
        write_private_file(&path, b"short").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"short");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
