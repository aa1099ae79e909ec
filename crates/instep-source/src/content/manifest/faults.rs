//! The faults of lines of CSV, in sentences that name the column.

use super::Manifest;
use crate::Error;

impl Manifest {
    /// Returns the sentence that describes the fault of a line of CSV.
    ///
    /// # Errors
    /// If the line could not be read at all: no line after it can be read either, so it is not the fault of one line.
    pub(super) fn fault_of_line(
        &self,
        error: csv::Error,
        columns: &csv::StringRecord,
    ) -> Result<String, Error> {
        let what = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(source) => Err(Error::read(&self.path)(source)),
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                Ok(format!("the number of its values is {len}, and that of the columns {expected_len}"))
            }
            csv::ErrorKind::Deserialize { err, .. } => Ok(fault_of_value(&err, columns)),
            _ => Ok(what),
        }
    }
}

/// Returns the sentence that describes a value of CSV that cannot be used, with the name of its column.
fn fault_of_value(error: &csv::DeserializeError, columns: &csv::StringRecord) -> String {
    let what = match error.kind() {
        csv::DeserializeErrorKind::ParseInt(_) => "it is not a whole number".to_owned(),
        kind => kind.to_string(),
    };
    let number = error.field().and_then(|field| usize::try_from(field).ok());
    match number.and_then(|number| columns.get(number)) {
        Some(column) => format!("{column}: {what}"),
        None => what,
    }
}
