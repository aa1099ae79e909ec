//! The faults of an archive, of which no hostile file can make too many or too long ones for the memory.

/// The most faults that are kept. Further ones are counted.
const MOST_FAULTS: usize = 10_000;
/// The most characters of a fault: a URI in it may be as long as a line of a head.
const LONGEST_FAULT: usize = 1_000;

/// The faults that were found so far.
#[derive(Debug, Default)]
pub(super) struct FaultList {
    kept: Vec<String>,
    more: u64,
}

impl FaultList {
    /// Adds a fault.
    pub(super) fn add(&mut self, mut fault: String) {
        if self.kept.len() >= MOST_FAULTS {
            self.more += 1;
            return;
        }
        if let Some((end, _)) = fault.char_indices().nth(LONGEST_FAULT) {
            fault.truncate(end);
            fault.push_str("...");
            fault.shrink_to_fit();
        }
        self.kept.push(fault);
    }

    /// Returns the faults. The last one says how many more the archive has.
    pub(super) fn into_texts(mut self, archive: &str) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("{archive}: {} more faults", self.more));
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o878_an_archive_of_faults_does_not_fill_the_memory() {
        let mut faults = FaultList::default();
        let long = "\u{e9}".repeat(2_000);
        (0..MOST_FAULTS + 5).for_each(|_| faults.add(long.clone()));
        let texts = faults.into_texts("a.warc");
        assert_eq!((texts.len(), texts[MOST_FAULTS].as_str()), (MOST_FAULTS + 1, "a.warc: 5 more faults"));
        assert!(texts.iter().all(|text| text.chars().count() <= LONGEST_FAULT + 3));
        let mut faults = FaultList::default();
        faults.add("short".to_owned());
        assert_eq!(faults.into_texts("a.warc"), ["short"]);
    }
}
