//! Files of ConfigMaps, where a name server in a pod expects them.
//!
//! A volume that is mounted as a directory changes while the pod runs, all of it at once: its files are
//! links into a directory that is exchanged. One that is mounted by `subPath` stays as it was when the
//! container was started. Both as a kubelet does it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapProjection, ConfigMapVolumeSource, KeyToPath, Pod, Volume, VolumeMount,
};

const DEFAULT_MODE: i32 = 0o644;
/// The link that is exchanged.
const DATA: &str = "..data";

/// What a directory holds: contents and mode by path.
pub type Tree = BTreeMap<String, (Vec<u8>, u32)>;

/// What one mount shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Below the container's root.
    pub place: PathBuf,
    pub shown: Shown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Directory(Tree),
    /// By subPath: one file.
    File(Vec<u8>, u32),
}

/// Why a pod cannot have its files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoVolume {
    #[error("MountVolume.SetUp failed for volume {volume:?} : configmap {map:?} not found")]
    NoMap { volume: String, map: String },
    #[error(
        "MountVolume.SetUp failed for volume {volume:?} : configmap references non-existent config key: {key}"
    )]
    NoKey { volume: String, key: String },
    #[error("volume {volume:?}: {path:?} leads out of it")]
    BadPath { volume: String, path: String },
}

/// The ConfigMaps that the volumes of a pod name.
pub fn maps_of(pod: &Pod) -> BTreeSet<String> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.flat_map(|volume| parts(volume).map(|part| part.map)).collect()
}

/// What the mounts of all containers show, given the ConfigMaps of the pod's namespace. Volumes of
/// other kinds are left out: nobody runs who could need them.
pub fn mounts(pod: &Pod, maps: &BTreeMap<String, ConfigMap>) -> Result<Vec<Mount>, NoVolume> {
    let Some(spec) = &pod.spec else { return Ok(Vec::new()) };
    let volumes: BTreeMap<&str, &Volume> =
        spec.volumes.iter().flatten().map(|volume| (volume.name.as_str(), volume)).collect();
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut mounts: BTreeMap<PathBuf, Shown> = BTreeMap::new();
    for mount in containers.flat_map(|container| container.volume_mounts.iter().flatten()) {
        let Some(volume) = volumes.get(mount.name.as_str()) else { continue };
        if parts(volume).next().is_none() {
            continue;
        }
        let place = inner(&mount.mount_path).ok_or_else(|| NoVolume::BadPath {
            volume: mount.name.clone(),
            path: mount.mount_path.clone(),
        })?;
        let tree = tree(volume, maps)?;
        mounts.insert(place, shown(mount, tree)?);
    }
    Ok(mounts.into_iter().map(|(place, shown)| Mount { place, shown }).collect())
}

fn shown(mount: &VolumeMount, tree: Tree) -> Result<Shown, NoVolume> {
    let Some(sub) = mount.sub_path.as_deref().filter(|sub| !sub.is_empty()) else {
        return Ok(Shown::Directory(tree));
    };
    if let Some((content, mode)) = tree.get(sub) {
        return Ok(Shown::File(content.clone(), *mode));
    }
    let below = tree.into_iter().filter_map(|(path, file)| {
        Some((path.strip_prefix(sub)?.strip_prefix('/')?.to_owned(), file))
    });
    let below: Tree = below.collect();
    if below.is_empty() {
        return Err(NoVolume::NoKey { volume: mount.name.clone(), key: sub.to_owned() });
    }
    Ok(Shown::Directory(below))
}

/// One ConfigMap of a volume.
struct Part {
    map: String,
    items: Option<Vec<KeyToPath>>,
    optional: bool,
    mode: u32,
}

fn parts(volume: &Volume) -> impl Iterator<Item = Part> {
    let mode = |mode: Option<i32>| u32::try_from(mode.unwrap_or(DEFAULT_MODE)).unwrap_or(0o644);
    let alone = volume.config_map.iter().map(move |source: &ConfigMapVolumeSource| Part {
        map: source.name.clone(),
        items: source.items.clone(),
        optional: source.optional.unwrap_or_default(),
        mode: mode(source.default_mode),
    });
    let projected = volume.projected.iter().flat_map(move |projected| {
        let sources = projected.sources.iter().flatten();
        sources.filter_map(|source| source.config_map.as_ref()).map(
            move |source: &ConfigMapProjection| Part {
                map: source.name.clone(),
                items: source.items.clone(),
                optional: source.optional.unwrap_or_default(),
                mode: mode(projected.default_mode),
            },
        )
    });
    alone.chain(projected)
}

fn tree(volume: &Volume, maps: &BTreeMap<String, ConfigMap>) -> Result<Tree, NoVolume> {
    let mut tree = Tree::new();
    for part in parts(volume) {
        let Some(map) = maps.get(&part.map) else {
            if part.optional {
                continue;
            }
            return Err(NoVolume::NoMap { volume: volume.name.clone(), map: part.map });
        };
        let texts = map.data.iter().flatten().map(|(key, text)| (key, text.clone().into_bytes()));
        let bytes = map.binary_data.iter().flatten().map(|(key, data)| (key, data.0.clone()));
        let all: BTreeMap<&String, Vec<u8>> = texts.chain(bytes).collect();
        let Some(items) = &part.items else {
            let whole = all.into_iter().map(|(key, data)| (key.clone(), (data, part.mode)));
            tree.extend(whole);
            continue;
        };
        for item in items {
            let Some(data) = all.get(&item.key) else {
                if part.optional {
                    continue;
                }
                let (volume, key) = (volume.name.clone(), item.key.clone());
                return Err(NoVolume::NoKey { volume, key });
            };
            if inner(&item.path).is_none() {
                let (volume, path) = (volume.name.clone(), item.path.clone());
                return Err(NoVolume::BadPath { volume, path });
            }
            let mode = item.mode.and_then(|mode| u32::try_from(mode).ok()).unwrap_or(part.mode);
            tree.insert(item.path.clone(), (data.clone(), mode));
        }
    }
    Ok(tree)
}

/// A path that stays where it is, without the slash at its beginning.
fn inner(path: &str) -> Option<PathBuf> {
    let mut inner = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => inner.push(name),
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    (!inner.as_os_str().is_empty()).then_some(inner)
}

/// Writes what the mounts show. A container is about to be started when `start`: only then files that
/// were mounted by `subPath` change.
pub fn write(root: &Path, mounts: &[Mount], start: bool) -> io::Result<()> {
    for Mount { place, shown } in mounts {
        let place = root.join(place);
        match shown {
            Shown::Directory(tree) => write_directory(&place, tree)?,
            Shown::File(..) if !start => {}
            Shown::File(content, mode) => {
                place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                put(&place, content, *mode)?;
            }
        }
    }
    Ok(())
}

fn put(file: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // Beside it, and then in its place: nobody sees half of it.
    let mut name = std::ffi::OsString::from("..");
    name.push(file.file_name().unwrap_or_default());
    let draft = file.with_file_name(name);
    std::fs::write(&draft, content)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(mode & 0o777))?;
    std::fs::rename(&draft, file)
}

/// All files of a directory, exchanged at once; nothing is touched where nothing differs.
fn write_directory(place: &Path, tree: &Tree) -> io::Result<()> {
    std::fs::create_dir_all(place)?;
    let data = place.join(DATA);
    let before = std::fs::read_link(&data).ok();
    if before.is_some() && read(&data).is_ok_and(|old| old == *tree) {
        return Ok(());
    }
    let stamp = jiff::Timestamp::now().as_nanosecond();
    let new = PathBuf::from(format!("..{stamp}"));
    for (path, (content, mode)) in tree {
        let file = place.join(&new).join(path);
        file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(&file, content)?;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode & 0o777))?;
    }
    std::fs::create_dir_all(place.join(&new))?;
    let draft = place.join("..data_tmp");
    let _ = std::fs::remove_file(&draft);
    symlink(&new, &draft)?;
    std::fs::rename(&draft, &data)?;
    // Names that are new lead to files that are there now; those of files that are gone lead nowhere.
    let tops: BTreeSet<&str> =
        tree.keys().map(|path| path.split('/').next().unwrap_or(path)).collect();
    for top in &tops {
        let link = place.join(top);
        if std::fs::symlink_metadata(&link).is_err() {
            symlink(Path::new(DATA).join(top), &link)?;
        }
    }
    for entry in std::fs::read_dir(place)?.flatten() {
        let name = entry.file_name();
        let ours = std::fs::read_link(entry.path()).is_ok_and(|to| to.starts_with(DATA));
        if ours && !name.to_str().is_some_and(|name| tops.contains(name)) {
            std::fs::remove_file(entry.path())?;
        }
    }
    if let Some(before) = before {
        std::fs::remove_dir_all(place.join(before))?;
    }
    Ok(())
}

/// What is in a directory.
fn read(directory: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    let mut open = vec![(directory.to_owned(), String::new())];
    while let Some((at, prefix)) = open.pop() {
        for entry in std::fs::read_dir(at)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let about = entry.metadata()?;
            if about.is_dir() {
                open.push((entry.path(), format!("{path}/")));
            } else {
                let mode = about.permissions().mode() & 0o777;
                tree.insert(path, (std::fs::read(entry.path())?, mode));
            }
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn maps(all: &Value) -> BTreeMap<String, ConfigMap> {
        let all: BTreeMap<String, BTreeMap<String, String>> =
            serde_json::from_value(all.clone()).unwrap();
        let map = |data| ConfigMap { data: Some(data), ..ConfigMap::default() };
        all.into_iter().map(|(name, data)| (name, map(data))).collect()
    }

    /// As controllers make them: for Landbridge's image, and for dnsmasq's.
    fn pod() -> Pod {
        serde_json::from_value(json!({"spec": {
            "volumes": [
                {"name": "config", "configMap": {"name": "dns", "items": [{"key": "dns", "path": "config.cfg"}]}},
                {"name": "hosts", "projected": {"defaultMode": 0o640, "sources": [
                    {"configMap": {"name": "hosts-0", "optional": true}}, {"configMap": {"name": "hosts-1", "optional": true}}]}},
                {"name": "one", "configMap": {"name": "one"}}, {"name": "tmp", "emptyDir": {}}],
            "containers": [{"name": "c", "volumeMounts": [
                {"name": "config", "mountPath": "/etc/dnsmasq.d/config"}, {"name": "hosts", "mountPath": "/etc/dnsmasq.d/hosts"},
                {"name": "one", "mountPath": "/etc/one.cfg", "subPath": "one"}, {"name": "tmp", "mountPath": "/tmp"}]}]}}))
        .unwrap()
    }

    fn see(root: &Path, path: &str) -> Option<String> {
        std::fs::read_to_string(root.join(path)).ok()
    }

    #[test]
    fn directories_change_at_once_and_files_by_subpath_do_not() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        let first = maps(
            &json!({"dns": {"dns": "port=1\n", "x": "y"}, "hosts-0": {"a": "1", "b": "2"}, "one": {"one": "old"}}),
        );
        write(at, &mounts(&pod(), &first).unwrap(), true).unwrap();
        assert_eq!(see(at, "etc/dnsmasq.d/config/config.cfg").as_deref(), Some("port=1\n"));
        assert_eq!(see(at, "etc/dnsmasq.d/config/x"), None, "only what is listed");
        assert_eq!(see(at, "etc/dnsmasq.d/hosts/b").as_deref(), Some("2"));
        let mode =
            std::fs::metadata(at.join("etc/dnsmasq.d/hosts/a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let data = |mount: &str| std::fs::read_link(at.join(mount).join(DATA)).unwrap();
        let (config, hosts) = (data("etc/dnsmasq.d/config"), data("etc/dnsmasq.d/hosts"));

        let second = maps(
            &json!({"dns": {"dns": "port=1\n"}, "hosts-0": {"b": "3"}, "hosts-1": {"c": "4"}, "one": {"one": "new"}}),
        );
        write(at, &mounts(&pod(), &second).unwrap(), false).unwrap();
        assert_eq!(see(at, "etc/dnsmasq.d/hosts/a"), None);
        assert!(
            std::fs::symlink_metadata(at.join("etc/dnsmasq.d/hosts/a")).is_err(),
            "no link to nowhere"
        );
        assert_eq!(see(at, "etc/dnsmasq.d/hosts/b").as_deref(), Some("3"));
        assert_eq!(see(at, "etc/dnsmasq.d/hosts/c").as_deref(), Some("4"));
        assert_eq!(see(at, "etc/one.cfg").as_deref(), Some("old"));
        assert_eq!(data("etc/dnsmasq.d/config"), config, "what is equal is not touched");
        assert_ne!(data("etc/dnsmasq.d/hosts"), hosts);
        let left = std::fs::read_dir(at.join("etc/dnsmasq.d/hosts")).unwrap().count();
        assert_eq!(left, 4, "..data, where it leads, and two files");
        write(at, &mounts(&pod(), &second).unwrap(), true).unwrap();
        assert_eq!(see(at, "etc/one.cfg").as_deref(), Some("new"), "a container is started");
    }

    #[test]
    fn what_is_missing_is_named() {
        let failed = |all: Value| mounts(&pod(), &maps(&all)).unwrap_err().to_string();
        assert!(failed(json!({})).ends_with("configmap \"dns\" not found"));
        assert!(failed(json!({"dns": {"x": ""}, "one": {"one": ""}})).ends_with("config key: dns"));
        assert!(
            failed(json!({"dns": {"dns": ""}, "one": {"two": ""}})).ends_with("config key: one")
        );
        assert_eq!(
            maps_of(&pod()).into_iter().collect::<Vec<_>>(),
            ["dns", "hosts-0", "hosts-1", "one"]
        );
    }

    #[test]
    fn nothing_leads_out() {
        assert_eq!(inner("/etc/./x"), Some("etc/x".into()));
        assert_eq!(inner("/etc/../../x"), None);
        assert_eq!(inner("/"), None);
    }
}
