//! A repository that speaks OAI-PMH and costs nearly nothing: each list is made of numbers while it is sent.

use std::{
    fmt::Write as _,
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    thread,
};

use anyhow::{Result, ensure};
use instep_net::{HttpOptions, Scope};
use instep_oai::{HarvestOptions, HarvestedRepository, RepositoryUrl};
use instep_source::{NoMonitor, Supplier as _};

use super::read_target;

/// Records of a response.
const PART: usize = 1_000;
/// 2020-01-01, in seconds since 1970.
const FIRST: i64 = 1_577_836_800;

/// Answers requests for this number of records, a second between their datestamps.
pub fn serve(port: &str, records: &str) -> Result<u64> {
    let records: usize = records.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port.parse::<u16>()?))?;
    for stream in listener.incoming().flatten() {
        // Disconnected clients are ignored.
        thread::spawn(move || drop(converse(&stream, records)));
    }
    Ok(0)
}

fn converse(stream: &TcpStream, records: usize) -> Result<()> {
    stream.set_nodelay(true)?;
    let (mut lines, mut stream) = (BufReader::new(stream), stream);
    while let Some(target) = read_target(&mut lines)? {
        let body = answer(&target, records);
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(body.as_bytes())?;
    }
    Ok(())
}

fn answer(target: &str, records: usize) -> String {
    let mut body = String::with_capacity(PART * 900);
    let _ = write!(
        body,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\">\
         <responseDate>2026-01-01T00:00:00Z</responseDate><request>http://127.0.0.1/oai</request>"
    );
    let argument = |name: &str| {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    };
    if argument("verb") == Some("Identify") {
        body.push_str(
            "<Identify><repositoryName>Numbers</repositoryName><baseURL>http://127.0.0.1/oai</baseURL>\
             <protocolVersion>2.0</protocolVersion><adminEmail>nobody@example.org</adminEmail>\
             <earliestDatestamp>2020-01-01T00:00:00Z</earliestDatestamp><deletedRecord>persistent</deletedRecord>\
             <granularity>YYYY-MM-DDThh:mm:ssZ</granularity></Identify></OAI-PMH>",
        );
        return body;
    }
    let first: usize = argument("resumptionToken").and_then(|token| token.parse().ok()).unwrap_or(0);
    let end = (first + PART).min(records);
    body.push_str("<ListRecords>");
    for number in first..end {
        record(&mut body, number);
    }
    let token = if end < records { end.to_string() } else { String::new() };
    let _ = write!(
        body,
        "<resumptionToken completeListSize=\"{records}\" cursor=\"{first}\">{token}</resumptionToken></ListRecords></OAI-PMH>"
    );
    body
}

/// Appends a record as repositories of articles have them.
fn record(body: &mut String, number: usize) {
    let datestamp = resourcesync::DateTime::from_unix_seconds(FIRST + number as i64);
    let _ = write!(
        body,
        "<record><header><identifier>oai:numbers.example.org:{number:07}</identifier><datestamp>{datestamp}</datestamp>\
         <setSpec>articles</setSpec></header><metadata><oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>On the number {number} &amp; its neighbours</dc:title>\
         <dc:creator>Lovelace, Ada</dc:creator><dc:creator>Babbage, Charles</dc:creator><dc:subject>Numbers</dc:subject>\
         <dc:description>The number {number} stands between {} and {}. This says so in as many words as such descriptions have, \
         which is more than one would think, and less than one would like to read.</dc:description>\
         <dc:date>2020-01-01</dc:date><dc:type>article</dc:type><dc:identifier>http://numbers.example.org/articles/{number}</dc:identifier>\
         <dc:language>en</dc:language></oai_dc:dc></metadata></record>",
        number.saturating_sub(1),
        number + 1
    );
}

/// Harvests a repository into a folder, and publishes nothing.
pub fn harvest(url: &str, folder: &Path) -> Result<u64> {
    let url = RepositoryUrl::parse(url)?;
    let http = HttpOptions::new(Scope::for_source(&url.base)?);
    let repository = HarvestedRepository::new(url, folder, HarvestOptions::default(), http)?;
    let left_out = repository.refresh(&NoMonitor, &|| false)?;
    ensure!(left_out == 0, "{left_out} records are left out");
    Ok(left_out)
}
