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

#[test]
fn o693_an_archive_is_divided_before_it_has_more_bytes_than_a_document_may_have() {
    let mut source = Source::new(TestSet::of(&["a"]), |options| {
        options.archives = Some(Archives::default());
        options.lists.closed_lists = 1;
        options.lists.bytes = 4_096;
    });
    source.publish();
    (0..180).for_each(|_| source.set.change("a", Change::Updated));
    source.publish();
    let lists = source.sink.documents.iter().filter(|(name, _)| name.ends_with(".xml"));
    let large: Vec<_> = lists.filter(|(_, bytes)| bytes.len() > 4_096).map(|(name, _)| name).collect();
    assert!(large.is_empty(), "{large:?}");
    let (header, parts) = source.document("changelist-archive.xml");
    assert!(header.form == Form::Index && parts.len() > 1, "{}", parts.len());
    let names = parts.iter().map(|part| part.loc.as_str().rsplit('/').next().unwrap());
    assert_eq!(names.map(|name| source.document(name).1.len()).sum::<usize>(), 59, "each closed list once");
}
