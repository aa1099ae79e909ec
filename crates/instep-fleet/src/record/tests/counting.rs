//! The statements that it takes to add many Sources.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::record::engine::{RecordWork, Statements};

/// Counts the statements of an engine.
#[derive(Debug)]
struct CountingEngine {
    engine: Box<dyn RecordEngine>,
    count: Arc<AtomicUsize>,
}

/// Counts the statements of a transaction.
struct CountingStatements<'s> {
    statements: &'s dyn Statements,
    count: &'s AtomicUsize,
}

impl Statements for CountingStatements<'_> {
    fn query(&self, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, FleetError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.statements.query(sql, fields)
    }

    fn execute(&self, sql: &str, fields: &[Field]) -> Result<u64, FleetError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.statements.execute(sql, fields)
    }
}

impl Statements for CountingEngine {
    fn query(&self, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, FleetError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.engine.query(sql, fields)
    }

    fn execute(&self, sql: &str, fields: &[Field]) -> Result<u64, FleetError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.engine.execute(sql, fields)
    }
}

impl RecordEngine for CountingEngine {
    fn place(&self) -> String {
        self.engine.place()
    }

    fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    fn transaction(&self, work: &mut RecordWork<'_>) -> Result<(), FleetError> {
        let count = &*self.count;
        self.engine.transaction(&mut |statements| work(&CountingStatements { statements, count }))
    }

    fn written_by_others(&mut self) -> Result<WrittenByOthers, FleetError> {
        self.engine.written_by_others()
    }

    fn is_to_count(&mut self) -> bool {
        self.engine.is_to_count()
    }

    fn read_up_to(&mut self, changed: i64) {
        self.engine.read_up_to(changed);
    }
}

#[test]
fn o503_a_thousand_sources_are_added_with_few_statements() {
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    record.engine = Box::new(CountingEngine { engine: record.engine, count: Arc::clone(&count) });
    let names: Vec<_> = (0..1_000).map(|number| name(&format!("s{number}"))).collect();
    let added: Vec<_> =
        names.iter().map(|name| SourceDefinition::new(name.clone(), "https://a.example/")).collect();
    record.add_logged(&added, ("ada", "import"), 5).unwrap();
    let statements = count.load(Ordering::Relaxed);
    assert!(statements < 40, "{statements}");
    assert_eq!(record.sources().unwrap().len(), 1_000);
}
