//! A cache of metadata of frequently requested files, with bounded memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::representation::Representation;

/// Representation by name. There are two generations: the young one becomes the old one when it is full, and an entry
/// that is requested again moves from the old to the young one, so the bound needs no bookkeeping per request.
#[derive(Debug)]
pub(crate) struct Cache {
    generations: Mutex<Generations>,
    generation_bytes: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: BTreeMap<Box<[u8]>, Arc<Representation>>,
    old: BTreeMap<Box<[u8]>, Arc<Representation>>,
    young_bytes: usize,
}

impl Cache {
    /// Returns a cache that holds at most twice as many bytes.
    pub(crate) fn new(generation_bytes: usize) -> Self {
        Self { generations: Mutex::default(), generation_bytes }
    }

    /// Returns the representation under a name.
    pub(crate) fn get(&self, name: &[u8]) -> Option<Arc<Representation>> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(representation) = generations.young.get(name) {
            return Some(Arc::clone(representation));
        }
        let (name, representation) = generations.old.remove_entry(name)?;
        generations.keep(name, Arc::clone(&representation), self.generation_bytes);
        Some(representation)
    }

    /// Keeps a representation under a name, in place of an earlier one.
    pub(crate) fn insert(&self, name: &[u8], representation: Arc<Representation>) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.old.remove(name);
        generations.keep(name.into(), representation, self.generation_bytes);
    }
}

impl Generations {
    fn keep(&mut self, name: Box<[u8]>, representation: Arc<Representation>, generation_bytes: usize) {
        if self.young_bytes > generation_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += name.len() + representation.bytes_held();
        let length = name.len();
        if let Some(replaced) = self.young.insert(name, representation) {
            self.young_bytes = self.young_bytes.saturating_sub(length + replaced.bytes_held());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let cache = Cache::new(10_000);
        let often = Arc::new(Representation::for_test(100));
        cache.insert(b"often", Arc::clone(&often));
        for number in 0..1_000_u32 {
            cache.insert(&number.to_be_bytes(), Arc::new(Representation::for_test(100)));
            assert!(cache.get(b"often").is_some());
        }
        let generations = cache.generations.lock().unwrap();
        let held: usize = generations
            .young
            .values()
            .chain(generations.old.values())
            .map(|representation| representation.bytes_held())
            .sum();
        assert!(held < 22_000, "{held}");
    }

    #[test]
    fn o168_a_file_that_changes_again_and_again_takes_its_place_once() {
        let cache = Cache::new(10_000);
        let other = Arc::new(Representation::for_test(100));
        cache.insert(b"other", other);
        for _ in 0..1_000 {
            cache.insert(&[b'a'; 200], Arc::new(Representation::for_test(100)));
        }
        let generations = cache.generations.lock().unwrap();
        assert_eq!((generations.young.len(), generations.old.len()), (2, 0));
    }
}
