//! The manifests for Kubernetes: they fit its schemas, and what they start does what its page says. There is no cluster;
//! each container is a root folder with the manifest's volumes, and its command runs there with the user and the
//! capabilities that the manifest gives it.

use crate::harness::{
    Page, Ran, Running, World, c, copy_program, info, installed, number, product, skip, start, validator,
    wait, wait_for,
};
use rustix::process::{Signal, geteuid};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes a root out of the system's programs and what is mounted (`FROM TO …`, up to `--`), and becomes a command there.
const CONTAINER: &str = r#"
set -e
root=$1
shift
mount -t tmpfs none "$root"
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/old"
for folder in usr lib lib64 bin sbin; do
    if [ -L "/$folder" ]; then cp -P "/$folder" "$root/$folder"; elif [ -d "/$folder" ]; then
        mkdir "$root/$folder" && mount --rbind "/$folder" "$root/$folder"
    fi
done
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    shift 2
done
shift
cd "$root"
pivot_root . old
umount -l /old
cd /
mount -o remount,ro /
exec "$@"
"#;

/// A node with the folders that are its volumes, by name.
struct Node {
    world: World,
    volumes: HashMap<String, PathBuf>,
}

impl Node {
    fn new() -> Node {
        let mut node = Node { world: World::new(), volumes: HashMap::new() };
        for (name, mode) in [("root", 0o755), ("image", 0o755), ("pages", 0o777)] {
            node.folder(name, mode);
        }
        copy_program(product(), &node.world.path("image/sysprof-memprof"));
        copy_program(c("holds_and_churns").flags(["-O1", "-g"]).build(), &node.world.path("image/app"));
        node
    }

    fn folder(&mut self, name: &str, mode: u32) -> PathBuf {
        let path = self.world.path(name);
        fs::create_dir(&path).expect("the folder is ours");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("the folder is ours");
        path
    }

    /// The volumes of a pod, as the kubelet makes them.
    fn mount(&mut self, pod: &Value) {
        let group = pod["securityContext"]["fsGroup"].as_u64().map(|group| group as u32);
        for volume in pod["volumes"].as_array().expect("there is a list") {
            let name = volume["name"].as_str().expect("it has a name");
            let folder = self.folder(name, 0o2777);
            chown(&folder, None, group).expect("we are root");
            if let Some(mode) = volume["secret"]["defaultMode"].as_u64() {
                fs::create_dir(folder.join("..now")).expect("the folder is ours");
                let token = folder.join("..now/token");
                fs::write(&token, "0123456789abcdef0123456789abcdef").expect("the folder is ours");
                fs::set_permissions(&token, PermissionsExt::from_mode(mode as u32)).expect("it is ours");
                chown(&token, None, group).expect("we are root");
                symlink("..now", folder.join("..data")).expect("the folder is ours");
                symlink("..data/token", folder.join("token")).expect("the folder is ours");
            }
            self.volumes.insert(name.to_owned(), folder);
        }
    }

    /// A command in a container of a pod.
    fn command(&self, pod: &Value, container: &Value, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.world.command("unshare");
        command.args(["--mount", "sh", "-c", CONTAINER, "sh"]).arg(self.world.path("root"));
        command.arg(self.world.path("image")).arg("/image").arg(self.world.path("pages")).arg("/pages");
        for mount in container["volumeMounts"].as_array().expect("there is a list") {
            let text = |name: &str| mount[name].as_str().expect("it is there");
            command.arg(&self.volumes[text("name")]).arg(text("mountPath"));
        }
        let context = |name: &str| match &container["securityContext"][name] {
            Value::Null => pod["securityContext"][name].clone(),
            value => value.clone(),
        };
        let user = context("runAsUser").as_u64().expect("there is a user");
        let added = context("capabilities")["add"].as_array().cloned().unwrap_or_default();
        let added = added.iter().map(|name| format!(",+{}", name.as_str().unwrap_or("").to_lowercase()));
        let capabilities = format!("-all{}", added.collect::<String>());
        command.args(["--", "setpriv", "--clear-groups", "--no-new-privs", "--inh-caps=-all"]);
        command.arg(format!("--bounding-set={capabilities}"));
        command.args([format!("--reuid={user}"), format!("--regid={user}")]);
        command.args(["env", "-u", "SYSPROF_MEMPROF_DIR", "PATH=/image:/usr/bin:/bin", "HOME=/"]);
        for variable in container["env"].as_array().into_iter().flatten() {
            let text = |name: &str| variable[name].as_str();
            let value = text("value").unwrap_or("from-the-cluster");
            command.arg(format!("{}={value}", text("name").expect("it has a name")));
        }
        command.args(words);
        command
    }

    fn start(&self, pod: &Value, container: &Value, words: &[impl AsRef<OsStr>]) -> Running {
        start(&self.world, self.command(pod, container, words))
    }

    fn run(&self, pod: &Value, container: &Value, words: &[impl AsRef<OsStr>]) -> Ran {
        let ran = wait(&self.world, self.command(pod, container, words));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran
    }

    /// The only capture in a volume.
    fn capture(&self, volume: &str) -> PathBuf {
        let files =
            fs::read_dir(&self.volumes[volume]).expect("it is there").map(|file| file.unwrap().path());
        let mut captures = files.filter(|path| path.extension().is_some_and(|ending| ending == "memprof"));
        captures.next().expect("there is a capture")
    }
}

/// The manifests, which fit their schemas; none where this cannot be checked, which is said.
fn manifests() -> Option<Vec<Value>> {
    let Some(packages) = installed("python3").and_then(|_| validator("python/kubernetes_validate")) else {
        skip("manifests of Kubernetes", "python3 or scripts/validators is missing");
        return None;
    };
    let world = World::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut check = world.command("python3");
    check.env("PYTHONPATH", packages.with_file_name("")).arg(tests.join("validators/manifests.py"));
    for name in ["sidecar", "ephemeral", "daemonset"] {
        check.arg(tests.join(format!("../packaging/kubernetes/{name}.yaml")));
    }
    let ran = wait(&world, check);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Some(ran.text().lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect())
}

/// The container of this name.
fn container<'v>(pod: &'v Value, name: &str) -> &'v Value {
    let all = ["initContainers", "containers"].into_iter().filter_map(|kind| pod[kind].as_array()).flatten();
    all.into_iter().find(|container| container["name"] == name).expect("there is such a container")
}

/// Its command, with any port that is free.
fn words(container: &Value) -> Vec<String> {
    let command = container["command"].as_array().expect("there is a command");
    command.iter().map(|word| word.as_str().expect("it is a word").replace(":9464", ":0")).collect()
}

/// Check that the manifests are valid, and that sidecar, ephemeral container and daemon set record the app, with names,
/// without more privileges than they have there.
#[test]
fn manifests_record_an_app() {
    let Some(manifests) = manifests() else { return };
    let [deployment, ephemeral, daemons] = manifests.as_slice() else { panic!("{}", manifests.len()) };
    if !geteuid().is_root()
        || ["unshare", "setpriv", "pivot_root"].iter().any(|name| installed(name).is_none())
    {
        return skip("what manifests start", "this needs root, unshare, setpriv and pivot_root");
    }
    let [pod, daemon] = [deployment, daemons].map(|one| &one["spec"]["template"]["spec"]);
    let mut node = Node::new();
    node.mount(pod);
    let agent = container(pod, "memprof-agent");
    node.run(pod, agent, &words(agent));
    let page = Page::new(&node.world);
    fs::rename(&page.path, node.world.path("pages/it")).expect("the folder is ours");
    fs::set_permissions(node.world.path("pages/it"), PermissionsExt::from_mode(0o666)).unwrap();
    let app = node.start(pod, container(pod, "app"), &["app", "/pages/it"]);
    page.wait_for_calls(1, 1000);
    let said = record(&node, &page, pod, "app");
    assert!(said.contains("Serving metrics and profiles at http://"), "{said}");
    node.run(
        pod,
        ephemeral,
        &["sysprof-memprof", "attach", "app", "-o", "/memprof/app.memprof", "--duration", "1s"],
    );
    check(&node.world, &node.capture("memprof"));
    node.volumes.clear();
    let pid = app.pid().as_raw_nonzero().to_string();
    fs::rename(node.world.path("captures"), node.world.path("captures.pod")).unwrap();
    node.mount(daemon);
    record(&node, &page, daemon, &pid);
    page.stop();
    assert_eq!(app.wait().code, 5);
}

/// Has the daemon of a pod record a process; returns what that says.
fn record(node: &Node, page: &Page, pod: &Value, process: &str) -> String {
    let container = container(pod, "memprof");
    let collector = node.start(pod, container, &words(container));
    wait_for("the daemon", || {
        assert!(!collector.stderr().contains("error:"), "{}", collector.stderr());
        collector.stderr().contains("until ^C")
    });
    node.run(pod, container, &["sysprof-memprof", "daemon", "start", process]);
    page.wait_for_calls(1, page.calls(0).mallocs_done + 20_000);
    node.run(pod, container, &["sysprof-memprof", "daemon", "stop", process]);
    collector.signal(Signal::TERM);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    check(&node.world, &node.capture("captures"));
    ran.stderr
}

/// Checks that a capture is whole, and names who holds memory by what is stored in it.
fn check(world: &World, capture: &Path) {
    let path = capture.to_str().expect("a plain name");
    let found = info(world, path);
    assert!(number(&found, "/totals/allocations") > 1000 && number(&found, "/lost/events") == 0, "{found:#}");
    let labels = found["processes"][0]["labels"].to_string();
    assert!(labels.contains("k8s.pod.name"), "{labels}");
    let ran = wait(world, world.tool(["report", "--by", "live", "--no-symbolize", path]));
    assert!(
        ran.code == 0 && ran.text().contains("hold (holds_and_churns.c:"),
        "{}{}",
        ran.text(),
        ran.stderr
    );
}
