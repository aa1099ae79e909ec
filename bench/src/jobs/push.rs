//! Changes on their way: from a Source that is served to those who follow it.

mod channels;
mod endure;
mod hub;
mod lag;
mod profiles;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, bail};
use instep_testkit::{Server, free_port};

pub use channels::channels;
pub use endure::endure;
pub use hub::hub;
pub use lag::lag;
pub use profiles::profiles;

use crate::{data, programs::instep};

/// A folder that is served and watched.
struct Served {
    files: PathBuf,
    port: u16,
    interval: &'static str,
    server: Option<Server>,
}

impl Served {
    fn start(files: usize, interval: &'static str) -> Result<Self> {
        let folder = data::empty("push-files")?;
        let mut served = Self { files: folder, port: free_port()?, interval, server: None };
        (0..files).try_for_each(|number| served.write(number, "at first"))?;
        served.restart()?;
        Ok(served)
    }

    /// Starts the Source, again on its port.
    fn restart(&mut self) -> Result<()> {
        let listen = format!("127.0.0.1:{}", self.port);
        let files = self.files.display().to_string();
        let mut command = instep(&["serve", &files, "--listen", &listen, "--interval", self.interval, "-q"]);
        self.server = Some(Server::start(&mut command, self.port)?);
        Ok(())
    }

    /// Kills the Source, which has no time to end anything.
    fn kill(&mut self) -> Result<()> {
        Command::new("kill").args(["-KILL", &self.id()?.to_string()]).status()?;
        self.server = None;
        Ok(())
    }

    fn id(&self) -> Result<u32> {
        Ok(self.server.as_ref().context("not served")?.id())
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn write(&self, number: usize, text: &str) -> Result<()> {
        Ok(fs::write(self.files.join(name(number)), text)?)
    }

    /// Returns the time at which the newest Change List was written, which is before any subscriber is notified.
    fn published(&self) -> Result<SystemTime> {
        let lists = fs::read_dir(self.files.join(".instep/documents/resourcesync"))?;
        let lists =
            lists.flatten().filter(|list| list.file_name().to_string_lossy().starts_with("changelist-"));
        let times = lists.filter_map(|list| list.metadata().ok()?.modified().ok());
        times.max().context("no Change List")
    }
}

fn name(number: usize) -> String {
    format!("f{number:05}.txt")
}

/// `instep sync --follow`; ends when dropped.
struct Follower {
    child: Child,
    copy: PathBuf,
}

impl Follower {
    fn start(served: &Served) -> Result<Self> {
        let copy = data::empty("push-copy")?;
        let mut command =
            instep(&["sync", &served.url(), &copy.display().to_string(), "--follow", "--delete", "-q"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, copy })
    }

    /// Waits until a file has this text.
    fn wait_for(&self, number: usize, text: &str) -> Result<()> {
        let (file, began) = (self.copy.join(name(number)), Instant::now());
        while fs::read(&file).ok().as_deref() != Some(text.as_bytes()) {
            if began.elapsed() > Duration::from_secs(60) {
                bail!("{} never came", file.display());
            }
            sleep(Duration::from_micros(500));
        }
        Ok(())
    }

    /// Ends it as an operator does.
    fn end(&mut self) -> Result<()> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the memory of a process: the present and the largest, in MiB.
pub fn memory(id: u32) -> Result<[f64; 2]> {
    let status = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    };
    Ok([field("VmRSS:").context("no VmRSS")?, field("VmHWM:").context("no VmHWM")?])
}

/// Returns the value below which this share of the values lies; sorts them.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}
