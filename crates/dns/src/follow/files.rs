//! All files a server reads, and what they say now.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::options::Options;
use super::paths::{ConfDir, files_of};
use super::resolv;
use crate::catalog::Catalog;
use crate::hosts;
use crate::settings::Settings;
use crate::warning::Warning;

/// Read when no other file of configuration is named, as by dnsmasq.
const USUAL_CONF: &str = "/etc/dnsmasq.conf";
const USUAL_HOSTS: &str = "/etc/hosts";
const USUAL_RESOLV: &str = "/etc/resolv.conf";
/// How the command line is called in warnings.
const COMMAND_LINE: &str = "command line";
/// Files that name files that name files: deeper is a circle.
const DEEPEST: usize = 8;

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().filter(Metadata::is_file).map(|metadata| Self::of(&metadata))
    }
}

/// What a look at the files brought.
#[derive(Debug, Default)]
pub struct Refreshed {
    /// Something that answers depend on is different.
    pub changed: bool,
    /// Warnings that were not there before.
    pub warnings: Vec<Warning>,
    /// The settings are different, too.
    pub settings: bool,
}

/// All files, with what was read from each.
#[derive(Debug)]
pub struct Files {
    options: Options,
    catalog: Catalog,
    /// Files of configuration, with the directories they came from.
    conf: BTreeMap<PathBuf, Option<Stamp>>,
    hosts: BTreeMap<PathBuf, Stamp>,
    resolv: BTreeMap<PathBuf, Option<Stamp>>,
    /// Warnings by the file they are about.
    warnings: BTreeMap<String, Vec<Warning>>,
    told: HashSet<Warning>,
}

impl Files {
    /// Reads everything for the first time.
    pub fn open(options: Options) -> (Self, Refreshed) {
        let mut files = Self {
            options,
            catalog: Catalog::new(Settings::default()),
            conf: BTreeMap::new(),
            hosts: BTreeMap::new(),
            resolv: BTreeMap::new(),
            warnings: BTreeMap::new(),
            told: HashSet::new(),
        };
        files.read_settings();
        let mut refreshed = files.refresh(|_| false);
        refreshed.changed = true;
        refreshed.settings = true;
        (files, refreshed)
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Looks at everything again; `busy` files are somebody's work in progress and stay as they were.
    pub fn refresh(&mut self, mut busy: impl FnMut(&Path) -> bool) -> Refreshed {
        let mut refreshed = Refreshed::default();
        let mut conf =
            self.conf.keys().chain(self.listed_conf().iter()).cloned().collect::<BTreeSet<_>>();
        conf.retain(|path| !busy(path));
        if conf.iter().any(|path| self.conf.get(path).copied().flatten() != Stamp::at(path)) {
            self.read_settings();
            refreshed.changed = true;
            refreshed.settings = true;
        }
        refreshed.changed |= self.refresh_hosts(&mut busy);
        refreshed.changed |= self.refresh_resolv(&mut busy);
        let all: HashSet<Warning> = self.warnings.values().flatten().cloned().collect();
        refreshed.warnings = all.difference(&self.told).cloned().collect();
        refreshed.warnings.sort();
        self.told = all;
        refreshed
    }

    /// Those about options and files of configuration, not about hosts.
    pub fn settings_warnings(&self) -> impl Iterator<Item = &Warning> {
        let conf: HashSet<String> =
            self.conf.keys().map(|path| path.display().to_string()).collect();
        self.warnings()
            .filter(move |warning| warning.file == COMMAND_LINE || conf.contains(&warning.file))
    }

    /// Those about the command line.
    pub fn command_line_warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings().filter(|warning| warning.file == COMMAND_LINE)
    }

    /// Every warning that stands.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.values().flatten()
    }

    /// What has to be watched: files, and the directories they come from.
    pub fn watched(&self) -> BTreeSet<PathBuf> {
        let settings = self.catalog.settings();
        let mut watched: BTreeSet<PathBuf> = BTreeSet::new();
        let directories = settings.conf_dirs.iter().map(|text| ConfDir::parse(text).directory);
        watched.extend(directories);
        watched.extend(settings.hostsdirs.iter().chain(&settings.addn_hosts).map(PathBuf::from));
        let files = self.conf.keys().chain(self.hosts.keys()).chain(self.resolv.keys());
        for file in files {
            watched.insert(file.clone());
            watched.extend(file.parent().map(Path::to_owned));
        }
        watched
    }

    /// The files of the directories that configuration comes from, as they are now.
    fn listed_conf(&self) -> Vec<PathBuf> {
        let settings = self.catalog.settings();
        settings.conf_dirs.iter().flat_map(|text| ConfDir::parse(text).files()).collect()
    }

    fn read_settings(&mut self) {
        let mut reading = Reading {
            settings: Settings::default(),
            conf: BTreeMap::new(),
            warnings: Vec::new(),
            dirs_done: 0,
            files_done: 0,
        };
        for (number, given) in (1..).zip(&self.options.given) {
            if let Err(bad) = reading.settings.option(&given.key, given.value.as_deref()) {
                let value =
                    given.value.as_ref().map(|value| format!("={value}")).unwrap_or_default();
                reading.warnings.push(Warning {
                    file: COMMAND_LINE.to_owned(),
                    line: number,
                    text: format!("--{}{value}", given.key),
                    why: bad.why,
                    help: bad.help,
                });
            }
            reading.follow(0);
        }
        if reading.settings.conf_files.is_empty() && Path::new(USUAL_CONF).is_file() {
            reading.read(Path::new(USUAL_CONF), 0);
        }
        for old in self.conf.keys().map(|path| path.display().to_string()) {
            self.warnings.remove(&old);
        }
        self.warnings.remove(COMMAND_LINE);
        for warning in reading.warnings {
            self.warnings.entry(warning.file.clone()).or_default().push(warning);
        }
        self.conf = reading.conf;
        self.catalog = self.catalog.with_settings(reading.settings);
    }

    /// The hosts files that count now, in their order.
    fn hosts_files(&self) -> Vec<PathBuf> {
        let settings = self.catalog.settings();
        let mut files = Vec::new();
        if !settings.no_hosts {
            files.push(PathBuf::from(USUAL_HOSTS));
        }
        for path in settings.addn_hosts.iter().chain(&settings.hostsdirs).map(PathBuf::from) {
            if path.is_dir() {
                files.extend(files_of(&path, |_| true));
            } else {
                files.push(path);
            }
        }
        files
    }

    fn refresh_hosts(&mut self, busy: &mut impl FnMut(&Path) -> bool) -> bool {
        let mut changed = false;
        let wanted = self.hosts_files();
        let gone: Vec<PathBuf> = self
            .hosts
            .keys()
            .filter(|path| !wanted.contains(path) && !busy(path))
            .cloned()
            .collect();
        for path in gone {
            self.forget_hosts(&path);
            changed = true;
        }
        for path in &wanted {
            let stamp = Stamp::at(path);
            if stamp.is_some() && self.hosts.get(path) == stamp.as_ref() {
                continue;
            }
            let name = path.display().to_string();
            let read = read(path);
            // Afterwards: who began to write in between has told so by now.
            if busy(path) {
                continue;
            }
            match read {
                Ok((text, stamp)) => {
                    let (hosts, warnings) = hosts::parse(&name, &text);
                    self.catalog = self.catalog.with_hosts(&name, Some(hosts));
                    self.warnings.insert(name, warnings);
                    self.hosts.insert(path.clone(), stamp);
                    changed = true;
                }
                Err(error) => {
                    changed |= self.hosts.contains_key(path);
                    self.forget_hosts(path);
                    self.warnings.insert(name.clone(), vec![unreadable(&name, &error)]);
                }
            }
        }
        changed
    }

    fn forget_hosts(&mut self, path: &Path) {
        let name = path.display().to_string();
        self.catalog = self.catalog.with_hosts(&name, None);
        self.warnings.remove(&name);
        self.hosts.remove(path);
    }

    /// The servers of the newest resolv.conf, as dnsmasq: the others are leftovers.
    fn refresh_resolv(&mut self, busy: &mut impl FnMut(&Path) -> bool) -> bool {
        let settings = self.catalog.settings();
        let paths: Vec<PathBuf> = if settings.no_resolv {
            Vec::new()
        } else if settings.resolv_files.is_empty() {
            vec![PathBuf::from(USUAL_RESOLV)]
        } else {
            settings.resolv_files.iter().map(PathBuf::from).collect()
        };
        if paths.iter().any(|path| busy(path)) {
            return false;
        }
        let now: BTreeMap<PathBuf, Option<Stamp>> =
            paths.into_iter().map(|path| (path.clone(), Stamp::at(&path))).collect();
        if now == self.resolv {
            return false;
        }
        let newest = now.iter().filter_map(|(path, stamp)| Some(((*stamp)?.modified, path))).max();
        let text = newest.and_then(|(_, path)| read(path).ok()).map(|(text, _)| text);
        let servers = text.map(|text| resolv::servers(&text)).unwrap_or_default();
        self.catalog = self.catalog.with_resolv(servers);
        self.resolv = now;
        true
    }
}

/// Configuration in the middle of being read.
struct Reading {
    settings: Settings,
    conf: BTreeMap<PathBuf, Option<Stamp>>,
    warnings: Vec<Warning>,
    /// How many of the settings' files and directories have been read.
    files_done: usize,
    dirs_done: usize,
}

impl Reading {
    /// Reads what the settings name and has not been read.
    fn follow(&mut self, depth: usize) {
        while let Some(file) = self.settings.conf_files.get(self.files_done).cloned() {
            self.files_done += 1;
            self.read(Path::new(&file), depth);
        }
        while let Some(text) = self.settings.conf_dirs.get(self.dirs_done).cloned() {
            self.dirs_done += 1;
            for file in ConfDir::parse(&text).files() {
                self.read(&file, depth);
            }
        }
    }

    fn read(&mut self, path: &Path, depth: usize) {
        let name = path.display().to_string();
        if self.conf.contains_key(path) || depth > DEEPEST {
            return;
        }
        match read(path) {
            Ok((text, stamp)) => {
                self.conf.insert(path.to_owned(), Some(stamp));
                self.warnings.extend(self.settings.read(&name, &text));
            }
            Err(error) => {
                self.conf.insert(path.to_owned(), None);
                self.warnings.push(unreadable(&name, &error));
            }
        }
        self.follow(depth + 1);
    }
}

fn unreadable(name: &str, error: &io::Error) -> Warning {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "it is read as soon as it is there",
        io::ErrorKind::PermissionDenied => "let the user this server runs as read it",
        _ => "",
    };
    Warning {
        file: name.to_owned(),
        line: 0,
        text: String::new(),
        why: format!("cannot be read: {error}"),
        help: help.to_owned(),
    }
}

/// A file as it was at one moment: read again when it changed meanwhile.
fn read(path: &Path) -> io::Result<(String, Stamp)> {
    let mut last = (Vec::new(), Stamp::of(&fs::metadata(path)?));
    for _ in 0..3 {
        let mut file = File::open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
        file.read_to_end(&mut bytes)?;
        last = (bytes, stamp);
        if Stamp::of(&file.metadata()?) == stamp {
            break;
        }
    }
    // A byte that is no text spoils its line, not the file.
    Ok((
        String::from_utf8(last.0)
            .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
        last.1,
    ))
}
