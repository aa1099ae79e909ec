/// How much a reader takes before it refuses to read on (GEN-26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Elements within elements; 16.
    pub depth: usize,
    /// Attributes of one element; 64.
    pub attributes: usize,
    /// Bytes of one tag, text or comment; 64 KiB.
    pub token_bytes: u64,
    /// Entries of one document; 5,000,000.
    pub entries: u64,
    /// Bytes of one document, decoded; 1 GiB.
    pub bytes: u64,
    /// Findings kept until they are taken; 1,000. Further ones are counted.
    pub findings: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 16,
            attributes: 64,
            token_bytes: 64 << 10,
            entries: 5_000_000,
            bytes: 1 << 30,
            findings: 1_000,
        }
    }
}
