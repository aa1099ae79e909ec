//! Many resources and much of everything: a Source that is far away, a copy that is large.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use instep_testkit::{Server, free_port};

use super::sync::Site;
use crate::{
    Options, data,
    measure::{BenchReport, peak, time, wall},
    programs::{self, instep},
};

/// Round trips of distant Sources, in milliseconds, with the remaining part of the rates that is expected.
const ROUND_TRIPS: [(u32, f64); 2] = [(20, 1.0), (100, 0.5)];
/// Transfers at a time. Over HTTP/2 a run begins with fewer, and finds how many are worth it.
const TRANSFERS: &str = "256";
const OVER_HTTP_2: &str = "64";
/// Resources a second at the smallest round trip, by the way that they come.
const BY_LIST: f64 = 4_000.0;
const PACKED: f64 = 25_000.0;

/// Measures a baseline from far away: from a web server, and from `serve` over HTTP/2.
pub fn distance(options: &Options, report: &mut BenchReport) -> Result<()> {
    println!("| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
    for (milliseconds, part) in ROUND_TRIPS {
        let folder = data::small_files_alone(options.files)?;
        let nginx = programs::nginx(&folder)?;
        let upstream = nginx.url().trim_end_matches('/').rsplit(':').next().unwrap_or_default().to_owned();
        let line = free_port()?;
        let _proxy = delayed(line, &upstream, milliseconds)?;
        let base = format!("http://127.0.0.1:{line}/");
        let publish =
            ["publish", &folder.display().to_string(), "--base-url", &base, "--dump", "always", "-q"];
        time(&mut instep(&publish))?;
        for (way, least) in [("list", BY_LIST), ("dump", PACKED)] {
            let far = FarBaseline { url: &base, way, arguments: &[], milliseconds, protocol: "HTTP/1.1" };
            far.measure(options, report, least * part)?;
        }
        drop(nginx);
        over_http_2(options, report, milliseconds, part)?;
    }
    data::small_files_alone(options.files).map(drop)
}

/// Measures the same from `serve` with a certificate, which offers HTTP/2 and batches.
fn over_http_2(options: &Options, report: &mut BenchReport, milliseconds: u32, part: f64) -> Result<()> {
    let folder = data::small_files_alone(options.files)?;
    let (port, line) = (free_port()?, free_port()?);
    let [certificate, key] = certificate()?;
    let (listen, base) = (format!("127.0.0.1:{port}"), format!("https://127.0.0.1:{line}/"));
    let place = folder.display().to_string();
    let mut serve = instep(&["serve", &place, "--listen", &listen, "--base-url", &base, "--dump", "always"]);
    serve.args(["--tls-cert", &certificate, "--tls-key", &key, "-q"]);
    let server = Server::start(&mut serve, port)?;
    let _proxy = delayed(line, &port.to_string(), milliseconds)?;
    let trusted = ["--ca-file", certificate.as_str()];
    for (way, least) in [("list", BY_LIST), ("dump", PACKED), ("batch", PACKED)] {
        let far = FarBaseline { url: &base, way, arguments: &trusted, milliseconds, protocol: "HTTP/2" };
        far.measure(options, report, least * part)?;
    }
    drop(server);
    Ok(())
}

/// A baseline over a line.
struct FarBaseline<'a> {
    url: &'a str,
    way: &'a str,
    arguments: &'a [&'a str],
    milliseconds: u32,
    protocol: &'a str,
}

impl FarBaseline<'_> {
    fn measure(&self, options: &Options, report: &mut BenchReport, least: f64) -> Result<()> {
        let Self { url, way, arguments, milliseconds, protocol } = *self;
        let name = format!("instep sync --via {way}, {protocol}, {milliseconds} ms");
        let copy = data::folder("copy")?.display().to_string();
        let mut samples = Vec::new();
        for _ in 0..options.rounds {
            data::empty("copy")?;
            let per_host = if protocol == "HTTP/2" { OVER_HTTP_2 } else { TRANSFERS };
            let limits = ["--transfers", TRANSFERS, "--per-host", per_host];
            let mut sync = instep(&["sync", url, &copy, "--via", way, "-q"]);
            samples.push(time(sync.args(limits).args(arguments))?);
        }
        report.samples(&name, samples);
        let rate = options.files as f64 / report.of(&name).map_or(f64::INFINITY, wall);
        report.conclude(
            format!(
                "{rate:.0} resources a second by {way} over {protocol} at {milliseconds} ms, at least {least}"
            ),
            rate >= least,
        );
        Ok(())
    }
}

/// Returns a certificate for this machine, and its key.
fn certificate() -> Result<[String; 2]> {
    let folder = data::scratch()?;
    let files = ["far.pem", "far.key"].map(|name| folder.join(name).display().to_string());
    let [certificate, key] = &files;
    if !Path::new(certificate).exists() {
        let subject = ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1"];
        let kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        let end = ["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", certificate];
        let made =
            Command::new("openssl").args(kind).args(["-days", "365"]).args(subject).args(end).output()?;
        ensure!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(files)
}

fn delayed(port: u16, upstream: &str, milliseconds: u32) -> Result<Server> {
    let mut proxy = Command::new(std::env::current_exe()?);
    proxy.args(["limit", "delay", &port.to_string(), upstream, &milliseconds.to_string()]);
    Ok(Server::start(&mut proxy, port)?)
}

/// Measures a run with nothing new over a copy of many resources: with the list unchanged, then rewritten with equal
/// content.
pub fn held(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.held)?;
    let copy = data::empty("copy")?.display().to_string();
    println!("| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
    report.row(FIRST, time(&mut site.sync(&copy))?);
    report.row(UNCHANGED, time(&mut site.sync(&copy))?);
    time(site.publish().arg("--snapshot"))?;
    report.row(ANEW, time(site.sync(&copy).args(["--via", "list"]))?);
    println!();
    report.goal("wall, list unchanged", report.of(UNCHANGED).map_or(0.0, wall), 0.1);
    let anew = report.of(ANEW).unwrap_or_default();
    report.goal("wall, list published anew", wall(anew), 10.0);
    report.goal("peak MiB, list published anew", peak(anew), 96.0);
    data::empty("copy").map(drop)
}

const FIRST: &str = "instep sync, nothing held";
const UNCHANGED: &str = "instep sync, list unchanged";
const ANEW: &str = "instep sync, list published anew";
