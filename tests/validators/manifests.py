"""Checks Kubernetes manifests against the schemas of its latest version, and prints each as a line of JSON.

    manifests.py FILE …

What has no kind is a part of a container, for `kubectl debug --custom`."""

import json, sys
import kubernetes_validate, yaml

for path in sys.argv[1:]:
    for document in yaml.safe_load_all(open(path)):
        whole = document
        if "kind" not in document:
            debugger = {"name": "debugger", "image": "image", "targetContainerName": "app", **document}
            spec = {"containers": [{"name": "app", "image": "image"}], "ephemeralContainers": [debugger]}
            whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
        kubernetes_validate.validate(whole, kubernetes_validate.latest_version(), strict=True)
        print(json.dumps(document))
