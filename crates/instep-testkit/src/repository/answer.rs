//! The answers of a fake repository.

use std::{collections::BTreeMap, io::Write as _};

use super::layout::{FakeRecord, RepositoryFault, RepositoryState};

/// Returns the answer to a request, as it is sent; `None` closes the connection.
pub(super) fn answer(
    state: &mut RepositoryState,
    target: &str,
    base: &str,
    accepts_gzip: bool,
) -> Option<Vec<u8>> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    state.log.push(if path == "/oai" { query.to_owned() } else { path.to_owned() });
    let asked = if path == "/oai" { unescaped(query) } else { path.to_owned() };
    let fault = state.faults.iter_mut().filter(|(part, _)| asked.contains(part.as_str()));
    let fault = fault.filter_map(|(_, faults)| faults.pop_front()).next();
    if path != "/oai" {
        let file = state.layout.files.iter().find(|(name, ..)| path.trim_start_matches('/') == name);
        return Some(match (fault, file) {
            (Some(RepositoryFault::Status(status, header)), _) => {
                http(status, header, "text/html", b"a page")
            }
            (_, Some((_, media_type, bytes))) if state.layout.gzip => {
                http(200, "Content-Encoding: gzip", media_type, &compressed(bytes))
            }
            (_, Some((_, media_type, bytes))) => http(200, "ETag: \"1\"", media_type, bytes.as_bytes()),
            (_, None) => http(404, "X-None: 1", "text/plain", b"nothing"),
        });
    }
    let right = || {
        let inside = respond(state, &arguments(query), base);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\">\n\
             <responseDate>{}</responseDate>\n<request>{base}</request>\n{inside}\n</OAI-PMH>\n",
            state.layout.now
        )
    };
    let body = match fault {
        Some(RepositoryFault::Close) => return None,
        Some(RepositoryFault::Status(status, header)) => {
            return Some(http(status, header, "text/html", b"<html>a page</html>"));
        }
        Some(RepositoryFault::Body(body)) => body,
        Some(RepositoryFault::Error(code)) => format!(
            "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\"><responseDate>{}</responseDate>\
             <error code=\"{code}\">as told</error></OAI-PMH>",
            state.layout.now
        ),
        Some(RepositoryFault::Replace(text, by)) => right().replace(&text, &by),
        Some(RepositoryFault::EndAfter(text)) => {
            let right = right();
            let end = right.find(&text).map_or(right.len(), |at| at + text.len());
            right[..end].to_owned()
        }
        None => right(),
    };
    if state.layout.gzip && accepts_gzip {
        return Some(http(200, "Content-Encoding: gzip", "text/xml", &compressed(&body)));
    }
    Some(http(200, "X-Fake: 1", "text/xml; charset=UTF-8", body.as_bytes()))
}

fn compressed(text: &str) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    coder.write_all(text.as_bytes()).expect("bytes in memory");
    coder.finish().expect("bytes in memory")
}

fn http(status: u16, header: &str, media_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n{header}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn arguments(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), unescaped(value))).collect()
}

fn unescaped(value: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), value.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| std::str::from_utf8(after.get(..2)?).ok()).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn respond(state: &RepositoryState, arguments: &BTreeMap<String, String>, base: &str) -> String {
    let layout = &state.layout;
    let verb = arguments.get("verb").map_or("", String::as_str);
    match verb {
        "Identify" => format!(
            "<Identify><repositoryName>Fake</repositoryName><baseURL>{base}</baseURL>\
             <protocolVersion>2.0</protocolVersion><adminEmail>a@b.example</adminEmail>\
             <earliestDatestamp>2000-01-01T00:00:00Z</earliestDatestamp><deletedRecord>{}</deletedRecord>\
             <granularity>{}</granularity></Identify>",
            layout.deleted_record, layout.granularity
        ),
        "ListMetadataFormats" => {
            let format = |prefix| {
                format!("<metadataFormat><metadataPrefix>{prefix}</metadataPrefix></metadataFormat>")
            };
            let formats: String = layout.formats.iter().map(format).collect();
            format!("<ListMetadataFormats>{formats}</ListMetadataFormats>")
        }
        "ListRecords" | "ListIdentifiers" => list(state, verb, arguments),
        "GetRecord" => {
            let wanted = arguments.get("identifier");
            let record = layout.records.iter().rev().find(|record| Some(&record.identifier) == wanted);
            match record {
                Some(record) => format!("<GetRecord>{}</GetRecord>", write(record, verb)),
                None => "<error code=\"idDoesNotExist\">no</error>".to_owned(),
            }
        }
        _ => "<error code=\"badVerb\">not here</error>".to_owned(),
    }
}

/// Lists from an offset; the token has the arguments of the first request and the offset of the next part.
fn list(state: &RepositoryState, verb: &str, arguments: &BTreeMap<String, String>) -> String {
    let error = |code: &str| format!("<error code=\"{code}\">no</error>");
    let (mut wanted, mut offset) = (arguments.clone(), 0);
    if let Some(token) = arguments.get("resumptionToken") {
        let mut parts = token.splitn(3, '!');
        let expiries = parts.next().and_then(|text| text.parse::<u32>().ok());
        let at = parts.next().and_then(|text| text.parse().ok());
        let (Some(at), true) = (at, expiries == Some(state.expiries)) else {
            return error("badResumptionToken");
        };
        (offset, wanted) = (at, self::arguments(parts.next().unwrap_or_default()));
    }
    let layout = &state.layout;
    let get = |name: &str| wanted.get(name).map_or("", String::as_str);
    if !layout.formats.iter().any(|format| format == get("metadataPrefix")) {
        return error("cannotDisseminateFormat");
    }
    let (from, until) = (get("from"), get("until"));
    if from.len().max(until.len()) > layout.granularity.len() {
        return error("badArgument");
    }
    let matches = |record: &&FakeRecord| {
        let after = from.is_empty() || record.datestamp.get(..from.len()).is_some_and(|stamp| stamp >= from);
        let before =
            until.is_empty() || record.datestamp.get(..until.len()).is_some_and(|stamp| stamp <= until);
        let is_listed = !record.is_deleted || layout.deleted_record != "no";
        after
            && before
            && is_listed
            && (get("set").is_empty() || record.sets.iter().any(|set| set == get("set")))
    };
    let matching: Vec<&FakeRecord> = layout.records.iter().filter(matches).collect();
    if matching.is_empty() {
        return error("noRecordsMatch");
    }
    let part: String =
        matching.iter().skip(offset).take(layout.part).map(|record| write(record, verb)).collect();
    let next = offset + layout.part;
    let token = if next < matching.len() {
        let query: Vec<String> = wanted
            .iter()
            .filter(|(name, _)| *name != "verb")
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("<resumptionToken>{}!{next}!{}</resumptionToken>", state.expiries, query.join("&amp;"))
    } else {
        "<resumptionToken/>".to_owned()
    };
    format!("<{verb}>{part}{token}</{verb}>")
}

fn write(record: &FakeRecord, verb: &str) -> String {
    let FakeRecord { identifier, datestamp, metadata, about, .. } = record;
    let status = if record.is_deleted { " status=\"deleted\"" } else { "" };
    let sets: String = record.sets.iter().map(|set| format!("<setSpec>{set}</setSpec>")).collect();
    let header = format!(
        "<header{status}><identifier>{identifier}</identifier><datestamp>{datestamp}</datestamp>{sets}</header>"
    );
    if verb == "ListIdentifiers" {
        return header + "\n";
    }
    let metadata = if record.is_deleted { String::new() } else { format!("<metadata>{metadata}</metadata>") };
    let about = if about.is_empty() { String::new() } else { format!("<about>{about}</about>") };
    format!("<record>{header}{metadata}{about}</record>\n")
}
