//! The job `search`: the search of the pages over many resources.

use std::{
    fs,
    io::{BufWriter, Read as _, Write as _},
    net::TcpStream,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use instep_testkit::{Server, free_port};

use super::push::{memory, quantile};
use crate::{Options, data, measure::BenchReport, programs::instep};

/// Searches that are measured, and those before them that warm everything up.
const SEARCHES: usize = 100;
const WARM: usize = 10;
/// The searched words: in none, in one, in a hundred and in all resources, and two at a time.
const WORDS: [&str; 5] = ["nowhere", "f00000777", "d000003/", "source.example", "f0000 7.txt"];

/// Measures searches, one after the other, over the served resources of a manifest.
pub fn search(options: &Options, report: &mut BenchReport) -> Result<()> {
    let folder = data::empty("search")?;
    let lines = folder.join("resources.jsonl");
    let mut writer = BufWriter::new(fs::File::create(&lines)?);
    for number in 0..options.resources {
        let uri = format!("http://source.example.com/d{:06}/f{number:08}.txt", number / 100);
        writeln!(writer, r#"{{"uri":"{uri}","length":{},"type":"text/plain"}}"#, number % 1_800)?;
    }
    writer.flush()?;
    let port = free_port()?;
    let (place, from, listen) =
        (folder.display().to_string(), lines.display().to_string(), format!("127.0.0.1:{port}"));
    let mut serve = instep(&["serve", &place, "--from", &from, "--base-url", "http://source.example.com/"]);
    let server = Server::start(serve.args(["--listen", &listen, "-q"]), port)?;
    for number in 0..WARM {
        found(port, WORDS[number % WORDS.len()])?;
    }
    let [before, _] = memory(server.id())?;
    let mut times = Vec::new();
    for number in 0..SEARCHES {
        let began = Instant::now();
        found(port, WORDS[number % WORDS.len()])?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let [after, most] = memory(server.id())?;
    report.distribution("search", "ms", &times);
    let (median, late) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    println!("| resources | median ms | p99 ms | MiB before | MiB after | peak MiB |");
    println!("|---:|---:|---:|---:|---:|---:|");
    println!("| {} | {median:.1} | {late:.1} | {before:.1} | {after:.1} | {most:.1} |", options.resources);
    report.number("peak", "MiB", most);
    report.goal("p99 of a search, ms", late, 200.0);
    report.goal("MiB more after the searches", after - before, 8.0);
    data::remove(&folder)
}

/// Searches, and reads the page to its end.
fn found(port: u16, words: &str) -> Result<()> {
    let query = words.replace(' ', "+").replace('/', "%2F");
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        stream,
        "GET /resourcesync/search?q={query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.lines().next().context("no answer")?;
    ensure!(status.contains(" 200 "), "{words}: {status}");
    Ok(())
}
