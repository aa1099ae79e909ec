//! The record of documents still to be delivered to object storage: written before documents are put in place, so
//! that no interruption loses one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The documents that object storage may not have as the folder has them, in the order of their delivery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct Outbox {
    /// The bucket and the prefix in it.
    pub place: String,
    /// The mark of the objects of this Source.
    pub mark: String,
    /// `true` if the content of the place is unknown: then every document must be delivered.
    pub everything: bool,
    /// The documents. One that is in the folder is put, one that is not is removed.
    pub documents: Vec<UndeliveredDocument>,
}

/// A document that object storage may not have as the folder has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct UndeliveredDocument {
    /// Its name below the folder.
    pub name: String,
    /// Documents of a later step are delivered later.
    pub step: DeliveryStep,
    /// `true` if this Source had no document of this name before.
    pub is_new: bool,
}

/// The order of deliveries: nothing is seen before that to which it refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DeliveryStep {
    /// Patches: in any order, since they refer to nothing.
    Patch,
    /// Parts that never change, and refer to patches at most: in any order.
    Part,
    /// Other documents that refer to nothing of a later step.
    List,
    /// Indexes, dumps, archives.
    Index,
    /// Capability Lists.
    CapabilityList,
    /// The Source Description, and the documents that lead to it.
    Source,
    /// Documents that are removed.
    Removal,
}

impl Outbox {
    /// Adds documents of a later publication. Both sequences are in an order that holds within a step, and so is the
    /// result: a document in both takes its place from the later one, after those that precede it in the earlier.
    pub(crate) fn add(&mut self, later: Vec<UndeliveredDocument>) {
        let names: BTreeSet<&str> = later.iter().map(|document| document.name.as_str()).collect();
        let places = self.documents.iter().enumerate();
        let places: BTreeMap<_, _> =
            places.map(|(place, document)| (document.name.clone(), (place, document.is_new))).collect();
        let staying = self.documents.iter().enumerate();
        let staying = staying.filter(|(_, document)| !names.contains(document.name.as_str()));
        let mut staying = staying
            .map(|(place, document)| (place, document.clone()))
            .collect::<Vec<_>>()
            .into_iter()
            .peekable();
        let mut merged = Vec::new();
        for mut document in later {
            if let Some((place, was_new)) = places.get(&document.name) {
                document.is_new |= was_new;
                while let Some((_, before)) = staying.next_if(|(before, _)| before < place) {
                    merged.push(before);
                }
            }
            merged.push(document);
        }
        merged.extend(staying.map(|(_, document)| document));
        merged.sort_by_key(|document| document.step);
        self.documents = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::{DeliveryStep, Outbox, UndeliveredDocument};

    fn documents(names: &[(&str, DeliveryStep)]) -> Vec<UndeliveredDocument> {
        let document = |(name, step): &(&str, DeliveryStep)| UndeliveredDocument {
            name: (*name).to_owned(),
            step: *step,
            is_new: false,
        };
        names.iter().map(document).collect()
    }

    fn added(first: &[(&str, DeliveryStep)], second: &[(&str, DeliveryStep)]) -> Vec<String> {
        let mut outbox = Outbox { documents: documents(first), ..Outbox::default() };
        outbox.add(documents(second));
        outbox.documents.into_iter().map(|document| document.name).collect()
    }

    #[test]
    fn what_was_left_comes_before_what_refers_to_it_and_each_document_once() {
        use DeliveryStep::{CapabilityList, Index, List, Part, Removal};
        let first = [("p1", Part), ("x", Index), ("y", Index), ("c", CapabilityList)];
        let second = [("p2", Part), ("l", List), ("z", Index), ("y", Index)];
        assert_eq!(added(&first, &second), ["p2", "p1", "l", "z", "x", "y", "c"].map(str::to_owned).to_vec());
        assert_eq!(added(&first, &[("x", Removal)]), ["p1", "y", "c", "x"]);
        assert_eq!(added(&[("x", Removal)], &[("x", Index)]), ["x"]);
    }

    #[test]
    fn a_document_that_never_arrived_stays_new() {
        let mut outbox = Outbox { documents: documents(&[("a", DeliveryStep::List)]), ..Outbox::default() };
        outbox.documents[0].is_new = true;
        outbox.add(documents(&[("a", DeliveryStep::List)]));
        assert!(outbox.documents[0].is_new && outbox.documents.len() == 1);
    }
}
