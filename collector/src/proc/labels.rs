//! Where a process runs, as names and values.
//!
//! Names are those of OpenTelemetry's resource attributes where it has one, so that exports and other tools need no
//! translation: <https://opentelemetry.io/docs/specs/semconv/resource/>. Of a process' environment nothing is kept but
//! what it has for this purpose: OpenTelemetry's own variables, and those which pods usually get from Kubernetes'
//! downward API.

use std::fs::{self, File};
use std::io::Read;

/// Names and values, each name once.
pub(crate) type Labels = Vec<(String, String)>;

/// No environment is read further.
const LONGEST: u64 = 1 << 20;
/// Most labels that a process may give itself, and the most bytes of a name or value: anybody may set its environment.
const MOST: usize = 64;
const WIDEST: usize = 256;

/// Variables that say in which pod a process is; the first that is set counts.
const POD: [(&str, &[&str]); 3] = [
    ("k8s.pod.name", &["POD_NAME", "K8S_POD_NAME", "MY_POD_NAME"]),
    ("k8s.namespace.name", &["POD_NAMESPACE", "K8S_NAMESPACE", "K8S_POD_NAMESPACE", "MY_POD_NAMESPACE"]),
    ("k8s.node.name", &["NODE_NAME", "K8S_NODE_NAME", "MY_NODE_NAME"]),
];

/// The machine and its kernel.
pub(crate) fn of_machine() -> Labels {
    let files = [
        ("host.name", "/proc/sys/kernel/hostname"),
        ("host.id", "/etc/machine-id"),
        ("os.version", "/proc/sys/kernel/osrelease"),
    ];
    let read = |(name, path): (&str, &str)| {
        Some((name.to_owned(), fs::read_to_string(path).ok()?.trim().to_owned()))
    };
    files.into_iter().filter_map(read).filter(|(_, value)| !value.is_empty()).collect()
}

/// What a process runs in, and what it says of itself.
pub(crate) fn of_process(pid: u32) -> Labels {
    let cgroup = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut environment = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/environ")) {
        let _ = file.take(LONGEST).read_to_end(&mut environment);
    }
    merged(of_cgroup(&cgroup), &of_environment(&environment))
}

/// Both; where both have a name, the second's value.
pub(crate) fn merged(mut labels: Labels, others: &[(String, String)]) -> Labels {
    for (name, value) in others {
        match labels.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(value),
            None => labels.push((name.clone(), value.clone())),
        }
    }
    labels
}

/// What the path of a control group says, from `/proc/PID/cgroup`.
fn of_cgroup(file: &str) -> Labels {
    // hierarchy:controllers:path. The second version has one line; of the first, systemd's is the one with units.
    let lines: Vec<(&str, &str)> =
        file.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
    let of = |controllers: &str| lines.iter().find(|(known, path)| *known == controllers && *path != "/");
    let Some((_, path)) = of("").or_else(|| of("name=systemd")).or_else(|| of("memory")) else {
        return Labels::new();
    };
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let mut labels = vec![("process.linux.cgroup".to_owned(), cut(path))];
    if let Some(pod) = parts().rev().find_map(pod_uid) {
        labels.push(("k8s.pod.uid".to_owned(), pod));
    }
    if let Some(container) = parts().rev().find_map(container_id) {
        labels.push(("container.id".to_owned(), container.to_owned()));
    }
    let unit = parts().rev().find_map(|part| part.strip_suffix(".service"));
    // The manager of a user's session is no service of its own.
    if let Some(unit) = unit.filter(|unit| !unit.starts_with("user@")) {
        labels.push(("service.name".to_owned(), cut(unit)));
    }
    labels
}

/// As in `docker-ID.scope`, `cri-containerd-ID.scope`, or by itself: 64 hexadecimal digits.
fn container_id(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = part.rsplit(['-', ':']).next()?;
    (id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// As in `kubepods-burstable-podUID.slice`, where it has underscores, and in `podUID`.
fn pod_uid(part: &str) -> Option<String> {
    let uid = part.strip_suffix(".slice").unwrap_or(part).rsplit_once("pod")?.1.replace('_', "-");
    let is_uid =
        matches!(uid.len(), 32 | 36) && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uid.then_some(uid)
}

/// What variables say, from `/proc/PID/environ`.
fn of_environment(bytes: &[u8]) -> Labels {
    let variables: Vec<(&str, &str)> = bytes
        .split(|byte| *byte == 0)
        .filter_map(|variable| str::from_utf8(variable).ok()?.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let label = |name: &str, value: &str| (cut(name), cut(value));
    let mut labels = Labels::new();
    for (name, variables) in POD {
        labels.extend(variables.iter().find_map(|variable| value(variable)).map(|value| label(name, value)));
    }
    let is_pod = value("KUBERNETES_SERVICE_HOST").is_some();
    // A pod's host name is its own name, unless it says otherwise.
    if let Some(host) =
        value("HOSTNAME").filter(|_| is_pod && labels.iter().all(|(name, _)| name != "k8s.pod.name"))
    {
        labels.push(label("k8s.pod.name", host));
    }
    let attributes = value("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default().split(',');
    let attributes = attributes.filter_map(|attribute| attribute.split_once('='));
    let attributes = attributes.map(|(name, value)| label(name.trim(), &decoded(value.trim())));
    let attributes: Labels = attributes.filter(|(name, _)| !name.is_empty()).take(MOST).collect();
    let service = value("OTEL_SERVICE_NAME").map(|name| label("service.name", name));
    merged(merged(labels, &attributes), service.as_slice())
}

/// A value whose special characters are percent-encoded, as in W3C's baggage.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, others @ ..] = rest {
        let digits =
            others.get(..2).filter(|_| *first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(WIDEST)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of<'l>(labels: &'l Labels, name: &str) -> Option<&'l str> {
        labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// Check that containers, pods and services are found in the paths that Docker, containerd, CRI-O, Podman and
    /// systemd make, of both versions of control groups.
    #[test]
    fn paths_name_containers_pods_and_services() {
        let uid = "12345678-1234-1234-1234-1234567890ab";
        let under = uid.replace('-', "_");
        for (file, container, pod, service) in [
            (format!("0::/system.slice/docker-{ID}.scope\n"), Some(ID), None, None),
            (format!("12:memory:/x\n1:name=systemd:/docker/{ID}\n0::/\n"), Some(ID), None, None),
            (
                format!(
                    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{under}.slice/cri-containerd-{ID}.scope"
                ),
                Some(ID),
                Some(uid),
                None,
            ),
            (format!("0::/kubepods/besteffort/pod{uid}/{ID}"), Some(ID), Some(uid), None),
            (
                format!("0::/system.slice/containerd.service/kubepods-pod{under}.slice:cri-containerd:{ID}"),
                Some(ID),
                None,
                Some("containerd"),
            ),
            (format!("0::/machine.slice/libpod-{ID}.scope/container"), Some(ID), None, None),
            ("0::/system.slice/nginx.service\n".into(), None, None, Some("nginx")),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope".into(),
                None,
                None,
                None,
            ),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/sync.service".into(),
                None,
                None,
                Some("sync"),
            ),
            ("0::/\n".into(), None, None, None),
            (String::new(), None, None, None),
        ] {
            let labels = of_cgroup(&file);
            let found = ["container.id", "k8s.pod.uid", "service.name"].map(|name| of(&labels, name));
            assert_eq!(found, [container, pod, service], "{file}");
        }
    }

    /// Check that a process' own words count more than the names of units, and that nothing else of its environment
    /// is kept.
    #[test]
    fn environments_name_services_and_pods() {
        let text = "PATH=/bin\0PASSWORD=x\0KUBERNETES_SERVICE_HOST=10.0.0.1\0HOSTNAME=web-7\0MY_POD_NAMESPACE=shop\0\
                    OTEL_RESOURCE_ATTRIBUTES=service.name=a,service.version=1%2E2, team=é%20b ,broken,=x\0\
                    OTEL_SERVICE_NAME=cart\0NODE_NAME=\0";
        let mut labels = of_environment(text.as_bytes());
        labels.sort_unstable();
        let expected = [
            ("k8s.namespace.name", "shop"),
            ("k8s.pod.name", "web-7"),
            ("service.name", "cart"),
            ("service.version", "1.2"),
            ("team", "é b"),
        ];
        assert_eq!(labels, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let unit = of_cgroup("0::/system.slice/app.service");
        assert_eq!(of(&merged(unit, &labels), "service.name"), Some("cart"));
        assert_eq!(of_environment(b"HOSTNAME=box\0"), []);
    }

    /// Check that this machine and this process have labels.
    #[test]
    fn this_machine_has_a_name() {
        let machine = of_machine();
        assert!(of(&machine, "host.name").is_some() && of(&machine, "os.version").is_some(), "{machine:?}");
        let child = std::process::Command::new("sleep").arg("60").env("OTEL_SERVICE_NAME", "naps").spawn();
        let mut child = child.unwrap();
        // The environment is that of the program, once it is executed.
        let named = || of(&of_process(child.id()), "service.name") == Some("naps");
        while !named() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    proptest! {
        /// Check that whatever a process sets is bounded.
        #[test]
        fn any_environment_gives_few_labels(text in "([A-Z_]{0,9}=?[a-zé%=,0-9]{0,600}\0?){0,20}", attributes in "([a-z%é]{0,3}=[a-z%0-9é]{0,3},?){0,200}") {
            let bytes = format!("{text}\0OTEL_RESOURCE_ATTRIBUTES={attributes}\0");
            let labels = of_environment(bytes.as_bytes());
            prop_assert!(labels.len() <= MOST + POD.len() + 2);
            prop_assert!(labels.iter().all(|(name, value)| !name.is_empty() && name.len().max(value.len()) <= WIDEST));
            of_cgroup(&text);
        }
    }
}
