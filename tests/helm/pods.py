"""Containers of rendered pods as processes of this machine: volumes are directories, the network is loopback."""

import base64
import os
import pathlib
import re
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

# As OpenShift gives them: a user without an entry anywhere, and a group of volumes.
USER, GROUP = 1000680000, 1000680001
# Seconds for a start on a busy machine.
LONG = 60


class Pod:
    """The volumes and containers of one pod. `secrets` has the Secrets and ConfigMaps that no object is, by name."""

    def __init__(self, objects, spec, directory, secrets=(), claims=(), name="pod-0", variables=()):
        self.spec, self.name = spec, name
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(exist_ok=True)
        self.directory.chmod(0o755)
        self.secrets = dict(secrets)
        # The places that stand for claims and for the claims of a StatefulSet, by name.
        self.claims = dict(claims)
        # In the place of those that cannot be meant here: of hosts, for example.
        self.variables = dict(variables)
        self.versions = 0
        self.take(objects)
        self.volumes = {each["name"]: self.volume(each) for each in spec.get("volumes", [])}

    def take(self, objects):
        """Takes the Secrets among objects."""
        for each in objects:
            if each["kind"] == "Secret":
                keys = {key: base64.b64decode(value).decode() for key, value in each.get("data", {}).items()}
                self.secrets[each["metadata"]["name"]] = keys | each.get("stringData", {})

    def volume(self, volume):
        """The directory of a volume, with its files."""
        place = self.directory / f"volume-{volume['name']}"
        if "persistentVolumeClaim" in volume:
            place = self.claims[volume["persistentVolumeClaim"]["claimName"]]
            for container in self.spec["containers"]:
                for mount in container["volumeMounts"]:
                    if mount["name"] == volume["name"] and "subPath" in mount:
                        (place / mount["subPath"]).mkdir(exist_ok=True)
                        writable(place / mount["subPath"])
            return place
        place.mkdir(exist_ok=True)
        sources = volume.get("projected", {}).get("sources", [])
        if "secret" in volume:
            sources = [{"secret": {"name": volume["secret"]["secretName"]}}]
        if not sources:
            writable(place)
            return place
        # As the kubelet does it: the files are links into a directory of their version, which is replaced as a whole.
        self.versions += 1
        version = place / f"..{self.versions}"
        for source in sources:
            keys = self.secrets[source["secret"]["name"]]
            items = source["secret"].get("items") or [{"key": key, "path": key} for key in keys]
            for item in items:
                file = version / item["path"]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(keys[item["key"]])
        (place / "..new").symlink_to(version.name)
        os.replace(place / "..new", place / "..data")
        for entry in version.iterdir():
            if not (place / entry.name).is_symlink():
                (place / entry.name).symlink_to(f"..data/{entry.name}")
        return place

    def update(self, objects):
        """Brings the volumes of a pod that runs to the Secrets of these objects."""
        self.take(objects)
        for each in self.spec["volumes"]:
            if "projected" in each or "secret" in each:
                self.volume(each)

    def environment(self, container):
        """Variables of a container, with paths of this machine."""
        variables = {"LITEIO_IN_CONTAINER": "true", "LITEIO_HOST": "127.0.0.1"}
        for each in container["env"]:
            assert each["name"] not in variables, f"{each['name']} is given twice"
            variables[each["name"]] = each["value"] if "value" in each else self.value(each["valueFrom"])
        variables["LITEIO_PORT"] = "0"
        variables |= self.variables
        mounts = sorted(container["volumeMounts"], key=lambda mount: -len(mount["mountPath"]))
        for name, value in variables.items():
            for mount in mounts:
                place = self.volumes.get(mount["name"]) or self.claims[mount["name"]]
                place = pathlib.Path(place, mount.get("subPath", ""))
                value, found = re.subn(rf"^(file://)?{re.escape(mount['mountPath'])}(?=/|$)",
                                       lambda match, place=place: f"{match[1] or ''}{place}", value)
                if found:
                    break
            variables[name] = value
        return variables

    def value(self, source):
        if "fieldRef" in source:
            assert source["fieldRef"]["fieldPath"] == "metadata.name"
            return self.name
        reference = source.get("secretKeyRef") or source["configMapKeyRef"]
        return self.secrets[reference["name"]][reference["key"]]

    def start(self, container):
        """The process of a container."""
        assert container["command"] == ["/liteio"]
        privileges = {}
        if os.getuid() == 0:
            privileges = {"user": USER, "group": 0, "extra_groups": [GROUP]}
        return subprocess.Popen([os.environ["LITEIO"], *container["args"]], cwd="/", text=True,
                                env=self.environment(container), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                **privileges)

    def run(self, container):
        """Runs a command to its end."""
        process = self.start(container)
        output, _ = process.communicate(timeout=LONG)
        assert process.returncode == 0, output
        return output


class Server:
    """The server of a pod, after its commands."""

    def __init__(self, pod):
        self.pod, self.container = pod, pod.spec["containers"][0]
        for command in pod.spec.get("initContainers", []):
            pod.run(command)
        self.process = pod.start(self.container)
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"Endpoint +(\S+)", line):
                self.endpoint = found[1]
                # A log that nobody reads would stop the server.
                self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
                self.reader.start()
                return
        raise AssertionError("".join(self.lines))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=LONG)
        self.reader.join()
        assert self.process.returncode == 0, "".join(self.lines)

    def probe(self, name):
        """The status that a probe gets."""
        get = self.container[name]["httpGet"]
        port, = self.container["ports"]
        assert get["port"] == port["name"] and self.endpoint.startswith(get["scheme"].lower() + "://")
        try:
            # The kubelet does not look at certificates.
            context = ssl._create_unverified_context()
            with urllib.request.urlopen(self.endpoint + get["path"], timeout=10, context=context) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def client(self, user, password, *arguments):
        """Runs `liteio client` as a user, for whom the server is `s3`. Returns its exit code and output."""
        scheme, address = self.endpoint.split("://")
        environment = {"HOME": str(self.pod.directory), "PATH": os.environ["PATH"],
                       "MC_HOST_s3": f"{scheme}://{user}:{password}@{address}"}
        done = subprocess.run([os.environ["LITEIO"], "client", "--insecure", *arguments], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONG)
        return done.returncode, done.stdout


def writable(place):
    """Makes a directory one of a volume, which the group of the pod may write to."""
    if os.getuid() == 0:
        os.chown(place, 0, GROUP)
    os.chmod(place, 0o2775)
