//! The interface of the record: statements in the subset of SQL that all engines support, and the operations of each
//! engine. The contract suite (`record/contract.rs`) runs against all of them.
//!
//! Parameters are written `$1`, and `{next}` for the number that a row gets with a change. Columns are integers or
//! text.

use std::fmt;

#[cfg(feature = "postgres")]
use instep_postgres::Address;

use crate::FleetError;

/// A value of a statement or a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Number(Option<i64>),
    Text(Option<String>),
}

impl From<i64> for Field {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        number.cast_signed().into()
    }
}

impl From<bool> for Field {
    fn from(is: bool) -> Self {
        i64::from(is).into()
    }
}

impl From<Option<i64>> for Field {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        // Messages may contain characters that PostgreSQL does not allow in text.
        Self::Text(Some(text.replace('\0', "\u{fffd}")))
    }
}

impl From<Option<&str>> for Field {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Text(None), Self::from)
    }
}

/// A row that a statement returned.
#[derive(Debug)]
pub(super) struct FieldRow(pub(super) Vec<Field>);

/// A column with a value that no version of instep writes.
#[derive(Debug)]
pub(super) struct FieldFault(pub(super) String);

impl FieldRow {
    pub(super) fn optional(&self, column: usize) -> Result<Option<i64>, FieldFault> {
        match self.0.get(column) {
            Some(Field::Number(number)) => Ok(*number),
            // SQLite does not give the type of a column without a value.
            Some(Field::Text(None)) => Ok(None),
            other => Err(FieldFault(format!("column {column} is not a number: {other:?}"))),
        }
    }

    pub(super) fn number(&self, column: usize) -> Result<i64, FieldFault> {
        self.optional(column)?.ok_or_else(|| FieldFault(format!("column {column} is empty")))
    }

    pub(super) fn count(&self, column: usize) -> Result<u64, FieldFault> {
        Ok(self.number(column)?.cast_unsigned())
    }

    pub(super) fn is(&self, column: usize) -> Result<bool, FieldFault> {
        Ok(self.number(column)? != 0)
    }

    pub(super) fn text(&self, column: usize) -> Result<Option<&str>, FieldFault> {
        match self.0.get(column) {
            Some(Field::Text(text)) => Ok(text.as_deref()),
            Some(Field::Number(None)) => Ok(None),
            other => Err(FieldFault(format!("column {column} is not text: {other:?}"))),
        }
    }

    pub(super) fn string(&self, column: usize) -> Result<String, FieldFault> {
        Ok(self.text(column)?.unwrap_or_default().to_owned())
    }
}

/// Runs statements: separately, or all in one transaction.
pub(super) trait Statements {
    /// Returns the rows of a statement.
    fn query(&self, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, FleetError>;

    /// Runs a statement; returns how many rows it touched.
    fn execute(&self, sql: &str, fields: &[Field]) -> Result<u64, FleetError>;
}

/// The work of a transaction, which is carried out again if another one was in its way.
pub(super) type RecordWork<'w> = dyn FnMut(&dyn Statements) -> Result<(), FleetError> + 'w;

/// Sources that others may have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WrittenByOthers {
    /// No other process can have written: the rows in memory are those of the record.
    Nothing,
    /// The Sources whose rows have a larger number than this.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "the changes of a file have no numbers")
    )]
    After(i64),
    /// Any Source: all rows are read again.
    All,
}

/// Keeps the rows of a record.
pub(super) trait RecordEngine: Statements + fmt::Debug + Send {
    /// Names the record for messages: its file, or its URL without a password.
    fn place(&self) -> String;

    /// Returns `true` if several processes keep the fleet together.
    fn is_shared(&self) -> bool;

    /// Carries out all of the work or nothing of it.
    fn transaction(&self, work: &mut RecordWork<'_>) -> Result<(), FleetError>;

    /// Returns the changes that others may have written since the last call.
    fn written_by_others(&mut self) -> Result<WrittenByOthers, FleetError>;

    /// Returns `true` if it is time to count the Sources, which says whether others have forgotten some.
    fn is_to_count(&mut self) -> bool;

    /// Notes the largest number among Sources that were read because others may have written them.
    fn read_up_to(&mut self, changed: i64);

    /// Forgets which changes were read, because those of this process could not be: others would not show them.
    fn forget_read(&mut self) {}

    /// Returns the address of the server that calls wait for; `None` for a file.
    #[cfg(feature = "postgres")]
    fn server(&self) -> Option<&Address> {
        None
    }
}

impl dyn RecordEngine {
    /// Returns the error for a row that cannot be read.
    pub(super) fn damaged(&self, fault: FieldFault) -> FleetError {
        FleetError::Damaged { place: self.place(), what: fault.0 }
    }
}
