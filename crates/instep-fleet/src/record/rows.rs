//! Sources as rows.

use std::collections::{BTreeMap, BTreeSet};

use instep_destination::CopySize;

use super::engine::{Field, FieldFault, FieldRow, Statements};
use crate::{
    FleetError,
    cause::LookCause,
    definition::SourceDefinition,
    name::SourceName,
    schedule::Pacing,
    standing::{FleetSource, SourceHold, SourceStanding},
};

/// The columns of a Source, in the order in which they are read.
pub(super) const COLUMNS: &str = "definition, from_file, added, paused, approved, wanted, due, \"interval\", failures, quarantined,
    sized_resources, sized_bytes, began, ended, exit_code, summary, success, checkpoint, held, bytes, pending, alerted,
    worker, epoch, changed, in_step, name, cause";

/// The Sources that one statement adds: a database that is far away would otherwise be waited for twice for each of them.
pub(super) const AT_ONCE: usize = 250;

/// A Source of the same name, as it is before it gets another definition.
pub(super) struct HeldDefinition {
    json: String,
    from_file: bool,
    added: i64,
    pub(super) paused: bool,
}

impl HeldDefinition {
    /// Returns `true` if the new definition is about another Source or another folder, or this one cannot be read. What is
    /// known of the former copy, and the approval of the former Source, say nothing about the new one.
    pub(super) fn is_of_another_copy(&self, new: &SourceDefinition) -> bool {
        let held = serde_json::from_str::<SourceDefinition>(&self.json);
        held.map_or(true, |held| !held.has_url(&new.url) || held.folder() != new.folder())
    }

    /// Refuses a definition of the same name that may not replace this one, unless this one was added just so at the time
    /// `again`.
    pub(super) fn expect_replaced_by(
        &self,
        new: &SourceDefinition,
        (from_file, again): (bool, Option<i64>),
    ) -> Result<(), FleetError> {
        let twice = |what: &str| Err(FleetError::Twice { name: new.name.clone(), what: what.to_owned() });
        let is_repeated = !self.from_file && again == Some(self.added) && self.json == json(new)?;
        match self.from_file {
            _ if is_repeated => Ok(()),
            true if !from_file => twice("it is in the configuration file"),
            false => twice("it was added by instep source"),
            true => Ok(()),
        }
    }
}

/// Splits definitions, in their order, into pieces for one statement each. No piece has a name twice, because a statement
/// cannot change a row twice.
pub(super) fn pieces(definitions: &[SourceDefinition]) -> Vec<&[SourceDefinition]> {
    let (mut pieces, mut rest) = (Vec::new(), definitions);
    while !rest.is_empty() {
        let mut names = BTreeSet::new();
        let end = rest.iter().take(AT_ONCE).take_while(|definition| names.insert(&definition.name)).count();
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Returns the Sources that have the names of definitions now, by name.
pub(super) fn held(
    statements: &dyn Statements,
    definitions: &[SourceDefinition],
    damaged: &dyn Fn(FieldFault) -> FleetError,
) -> Result<BTreeMap<String, HeldDefinition>, FleetError> {
    let places: Vec<_> = (1..=definitions.len()).map(|place| format!("${place}")).collect();
    let sql = format!(
        "SELECT name, from_file, definition, added, paused FROM source WHERE name IN ({})",
        places.join(", ")
    );
    let names: Vec<Field> = definitions.iter().map(|definition| definition.name.as_str().into()).collect();
    let read = |row: &FieldRow| {
        let (from_file, json) = (row.is(1)?, row.string(2)?);
        let held = HeldDefinition { json, from_file, added: row.number(3)?, paused: row.is(4)? };
        Ok((row.string(0)?, held))
    };
    statements.query(&sql, &names)?.iter().map(read).collect::<Result<_, FieldFault>>().map_err(damaged)
}

/// Adds Sources that are due at once, each paused or not, or changes their definitions: then they are due at once too, by
/// the new ones.
pub(super) fn put(
    statements: &dyn Statements,
    definitions: &[(&SourceDefinition, bool)],
    from_file: bool,
    (now, pacing): (i64, Pacing),
) -> Result<(), FleetError> {
    let mut fields: Vec<Field> =
        vec![from_file.into(), now.into(), pacing.due.into(), pacing.interval.into()];
    let mut rows = Vec::with_capacity(definitions.len());
    for (definition, is_paused) in definitions {
        let first = fields.len() + 1;
        let [name, json_place, folder, paused] = [first, first + 1, first + 2, first + 3];
        rows.push(format!("(${name}, ${json_place}, ${folder}, $1, $2, $3, $4, 0, 0, ${paused})"));
        fields.extend([
            definition.name.as_str().into(),
            json(definition)?.as_str().into(),
            definition.folder().to_string_lossy().as_ref().into(),
            (*is_paused).into(),
        ]);
    }
    let sql = format!(
        "INSERT INTO source (name, definition, folder, from_file, added, due, \"interval\", failures, quarantined, paused)
         VALUES {}
         ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, folder = excluded.folder,
         from_file = excluded.from_file, due = CASE WHEN source.due < excluded.due THEN source.due ELSE excluded.due END,
         changed = {{next}}
         WHERE source.definition <> excluded.definition OR source.from_file <> excluded.from_file",
        rows.join(", ")
    );
    statements.execute(&sql, &fields).map(drop)
}

/// Returns a definition as it is kept.
pub(super) fn json(definition: &SourceDefinition) -> Result<String, FleetError> {
    serde_json::to_string(definition)
        .map_err(|error| FleetError::Definition { name: definition.name.clone(), what: error.to_string() })
}

/// Forgets a Source with everything that is known of it; returns 0 if there was none.
pub(super) fn forget(statements: &dyn Statements, name: &SourceName) -> Result<u64, FleetError> {
    let fields = [name.as_str().into()];
    for sql in ["DELETE FROM look WHERE source = $1", "DELETE FROM survey WHERE source = $1"] {
        statements.execute(sql, &fields)?;
    }
    statements.execute("DELETE FROM source WHERE name = $1", &fields)
}

/// The columns that the end of a look writes. The flags are not among them, because operators set these.
pub(super) const LOOK_COLUMNS: &str = "due = $2, \"interval\" = $3, failures = $4, quarantined = $5, sized_resources = $6,
    sized_bytes = $7, ended = $8, exit_code = $9, summary = $10, success = $11, checkpoint = $12, held = $13, bytes = $14,
    pending = $15, alerted = $16, in_step = $17, cause = $18";

/// Returns the values of those columns, the name before them.
pub(super) fn look_fields(name: &SourceName, standing: &SourceStanding) -> Vec<Field> {
    let signed = |number: u64| Some(number.cast_signed());
    vec![
        name.as_str().into(),
        standing.due.into(),
        standing.interval.into(),
        i64::from(standing.failures).into(),
        standing.quarantined.into(),
        standing.sized.and_then(|size| signed(size.resources)).into(),
        standing.sized.and_then(|size| signed(size.bytes)).into(),
        standing.ended.into(),
        standing.exit_code.map(i64::from).into(),
        standing.summary.as_str().into(),
        standing.success.into(),
        standing.checkpoint.into(),
        standing.held.into(),
        standing.bytes.into(),
        standing.pending.into(),
        standing.alerted.as_deref().into(),
        standing.in_step.into(),
        standing.cause.map(LookCause::as_str).into(),
    ]
}

/// Reads a Source from its columns.
pub(super) fn read(row: &FieldRow) -> Result<FleetSource, FieldFault> {
    columns(row).map_err(|fault| {
        let name = row.string(26).unwrap_or_default();
        let remedy = if is_of_newer_version(row) {
            "it seems to be of a newer version of instep: use that version here too".to_owned()
        } else {
            format!("remove it with instep source remove {name}, and add it again")
        };
        FieldFault(format!("Source {name}: {}; {remedy}", fault.0))
    })
}

/// Returns `true` if the definition of a Source is whole, and has something that this version does not know.
fn is_of_newer_version(row: &FieldRow) -> bool {
    let json = row.text(0).ok().flatten().unwrap_or_default();
    serde_json::from_str::<SourceDefinition>(json).is_err_and(|error| error.is_data())
}

fn columns(row: &FieldRow) -> Result<FleetSource, FieldFault> {
    let definition = serde_json::from_str(row.text(0)?.unwrap_or_default())
        .map_err(|error| FieldFault(format!("a definition cannot be read: {error}")))?;
    let small = |column| {
        let number = row.optional(column)?.map(u8::try_from).transpose();
        number.map_err(|_| FieldFault(format!("column {column} is not an exit code")))
    };
    let sized = row.optional(10)?.zip(row.optional(11)?);
    let standing = SourceStanding {
        added: row.number(2)?,
        paused: row.is(3)?,
        approved: row.is(4)?,
        wanted: row.is(5)?,
        due: row.number(6)?,
        interval: row.count(7)?,
        failures: u32::try_from(row.number(8)?).unwrap_or(u32::MAX),
        quarantined: row.is(9)?,
        sized: sized
            .map(|(resources, bytes)| CopySize::new(resources.cast_unsigned(), bytes.cast_unsigned())),
        began: row.optional(12)?,
        ended: row.optional(13)?,
        exit_code: small(14)?,
        cause: row.text(27)?.and_then(LookCause::named),
        in_step: row.is(25)?,
        summary: row.string(15)?,
        success: row.optional(16)?,
        checkpoint: row.optional(17)?,
        held: row.count(18)?,
        bytes: row.count(19)?,
        pending: row.count(20)?,
        alerted: row.text(21)?.map(str::to_owned),
    };
    let hold = SourceHold { worker: row.optional(22)?, epoch: row.number(23)?, changed: row.number(24)? };
    let running = hold.worker.and(standing.began);
    Ok(FleetSource { definition, from_file: row.is(1)?, standing, running, hold })
}
