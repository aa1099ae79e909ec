//! `instep change --stdin`: changes from standard input until it ends. Each line is answered once its change is
//! durable, so that an application knows which lines it must send again.

use std::{
    io::{self, BufRead, Read as _},
    path::Path,
    sync::mpsc::{self, Receiver},
    thread,
};

use instep_source::{Publisher, Recorded, ReportedChange, published_base_url};
use serde_json::{Value, json};

use crate::{
    args::waiting::WaitArgs,
    exit::Exit,
    foreign::ForeignResources,
    listener::RunningServer,
    ui::{
        Output,
        format::{count, counted},
        output::typed,
        publishing::Publishing,
    },
};

/// The most changes in one request or transaction.
pub(super) const AT_ONCE: usize = 1_000;

/// The note about reports that changed nothing.
pub(super) const NOTHING_CHANGED: &str = "Nothing changed: a resource that is a file of the Source is taken as it is on the disk, and so is each URI below its base URL; one that is not listed cannot be removed";

/// The most lines that are read ahead while others are recorded.
const AHEAD: usize = 2_000;

/// The most bytes of a line, so that input without line ends does not fill the memory.
const MOST_LINE: usize = 128 << 10;

/// A line of the input, and its number.
struct NumberedLine {
    number: u64,
    /// The text; the inner error is the reason why the line has none, and affects no other line.
    text: io::Result<Result<String, String>>,
}

/// The changes that a line reports, as they were written and as they were understood.
struct ReadLine {
    item: Value,
    changes: Vec<ReportedChange>,
}

/// The figures of all lines.
#[derive(Default)]
struct LineCounts {
    reported: u64,
    refused: u64,
    recorded: Recorded,
    /// The recorder of the last changes, as the output names it: `listener` (a server) or `catalogue` (this command).
    by: &'static str,
}

/// Records the changes in the lines of standard input until it ends. Lines that arrive together are recorded
/// together; the answers are in the order of the lines.
///
/// Errors: standard input cannot be read, or neither a server nor the catalogue accepts a change. Unanswered lines
/// must then be reported again.
pub(super) fn run(state: &Path, wait: WaitArgs, output: &Output) -> anyhow::Result<Exit> {
    let lines = read_ahead();
    let mut counts = LineCounts { by: "catalogue", ..LineCounts::default() };
    // Set to `None` after the first warning: one is enough for input that never ends.
    let mut foreign = published_base_url(state)?.as_deref().map(ForeignResources::of);
    while let Ok(first) = lines.recv() {
        let more = lines.try_iter().take(AT_ONCE - 1);
        let batch: Vec<NumberedLine> = std::iter::once(first).chain(more).collect();
        let read = take(batch, state, wait, output, &mut counts)?;
        if let Some(seen) = &mut foreign {
            for change in read.iter().flat_map(|read| &read.changes) {
                if let ReportedChange::Add { uri, .. } = change {
                    seen.see(uri.as_str());
                }
            }
            if seen.warn(output) {
                foreign = None;
            }
        }
    }
    let LineCounts { reported, refused, recorded, by } = counts;
    output.note(format!("{}, {} refused", counted(reported, "line"), count(refused)));
    let Recorded { created, updated, deleted, sequence, .. } = recorded;
    if reported > refused && created + updated + deleted == 0 {
        output.note(NOTHING_CHANGED);
    }
    output.object(
        "summary",
        json!({
            "command": "change", "reported": reported, "refused": refused, "created": created, "updated": updated,
            "deleted": deleted, "sequence": sequence, "by": by,
        }),
    );
    Ok(if refused > 0 { Exit::Problems } else { Exit::Done })
}

fn read_ahead() -> Receiver<NumberedLine> {
    let (sender, lines) = mpsc::sync_channel(AHEAD);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        for number in 1.. {
            let Some(text) = next_line(&mut input).transpose() else { return };
            let is_last = text.is_err();
            if sender.send(NumberedLine { number, text }).is_err() || is_last {
                return;
            }
        }
    });
    lines
}

/// Reads a line; `None` at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    let most = MOST_LINE as u64 + 1;
    if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() > MOST_LINE && line.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
        return Ok(Some(Err(format!("longer than {MOST_LINE} bytes"))));
    }
    // Windows programs begin a file with a byte order mark.
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
    Ok(Some(std::str::from_utf8(line).map(str::to_owned).map_err(|_| "not UTF-8".to_owned())))
}

/// Records a batch of lines in one transaction and answers each of them. Returns the lines that were recorded.
fn take(
    batch: Vec<NumberedLine>,
    state: &Path,
    wait: WaitArgs,
    output: &Output,
    counts: &mut LineCounts,
) -> anyhow::Result<Vec<ReadLine>> {
    let mut answers = Vec::new();
    let mut read = Vec::new();
    for NumberedLine { number, text } in batch {
        let text = text?;
        if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
            continue;
        }
        let line = text.and_then(|text| parse(&text));
        answers.push((number, line.as_ref().err().cloned()));
        read.extend(line.ok());
    }
    let sequence = if read.is_empty() {
        None
    } else {
        let (recorded, by) = record(&read, state, wait, output)?;
        counts.recorded.add(&recorded);
        counts.by = by;
        Some(recorded.sequence)
    };
    for (number, refused) in answers {
        let sequence = sequence.filter(|_| refused.is_none());
        counts.reported += 1;
        counts.refused += u64::from(refused.is_some());
        output.raw(&typed("acknowledged", json!({ "line": number, "sequence": sequence, "what": refused })));
    }
    Ok(read)
}

fn parse(line: &str) -> Result<ReadLine, String> {
    let item: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let changes = ReportedChange::list_from_json(item.clone())?;
    Ok(ReadLine { item, changes })
}

/// Records changes through the server that has the Source, else in its catalogue.
fn record(
    read: &[ReadLine],
    state: &Path,
    wait: WaitArgs,
    output: &Output,
) -> anyhow::Result<(Recorded, &'static str)> {
    wait.until_free(
        state,
        output,
        || false,
        || {
            if let Some(listener) = RunningServer::find(state)? {
                let items: Vec<&Value> = read.iter().map(|read| &read.item).collect();
                match listener.report_items(&items) {
                    // The server has just ended: the catalogue is free, or `until_free` waits for it.
                    Err(_) if RunningServer::find(state)?.is_none() => {}
                    recorded => return Ok((recorded?, "listener")),
                }
            }
            let monitor = Publishing::new(*output);
            let changes = read.iter().flat_map(|read| read.changes.clone()).collect();
            let recorded = Publisher::reopen(state)?.record(changes, &monitor)?;
            monitor.finish();
            Ok((recorded, "catalogue"))
        },
    )
}
