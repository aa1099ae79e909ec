//! Writes ZIP packages byte by byte, with members that are stored and not compressed.

use flate2::Crc;

/// Returns a ZIP package of these members.
pub(crate) fn zip(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut package, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let offset = size(package.len());
        let mut crc = Crc::new();
        crc.update(bytes);
        // Version 2.0, no flags, stored, 1980-01-01.
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend(size(bytes.len()));
        common.extend(size(bytes.len()));
        common.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        common.extend([0, 0]);
        package.extend(b"PK\x03\x04");
        package.extend(&common);
        package.extend(name.as_bytes());
        package.extend(bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset);
        directory.extend(name.as_bytes());
    }
    let (offset, length) = (size(package.len()), size(directory.len()));
    let count = u16::try_from(members.len()).unwrap().to_le_bytes();
    package.extend(directory);
    package.extend(b"PK\x05\x06\x00\x00\x00\x00");
    package.extend(count);
    package.extend(count);
    package.extend(length);
    package.extend(offset);
    package.extend([0, 0]);
    package
}

fn size(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap().to_le_bytes()
}
