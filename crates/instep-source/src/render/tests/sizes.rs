//! The bytes of documents.

use super::*;

#[test]
fn o623_a_change_list_closes_before_it_has_more_bytes_than_a_document_may_have() {
    for single_changelist in [false, true] {
        let mut source = Source::new(TestSet::of(&["a"]), |options| {
            options.lists.single_changelist = single_changelist;
            options.lists.rotation.entries = 50_000;
            options.lists.bytes = 16_384;
        });
        source.publish();
        for number in 0..20 {
            source.set.change(&format!("{number}{}", "b".repeat(1_500)), Change::Created);
        }
        source.publish();
        let lists: Vec<_> =
            source.sink.documents.iter().filter(|(name, _)| name.contains("changelist")).collect();
        assert!(lists.iter().all(|(_, bytes)| bytes.len() <= 16_384));
        if !single_changelist {
            assert!(lists.len() > 3, "{}", lists.len());
            assert_eq!(source.all_changes().len(), 20);
        }
    }
}
