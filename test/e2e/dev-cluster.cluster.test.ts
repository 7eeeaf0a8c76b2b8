import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { builtBinaries, findBinaries } from "@xfn/dev-cluster";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type KubectlInProcess, kubectlInProcess } from "../harness/kubectl/kubectl-in-process.ts";
import { needs } from "../harness/needs.ts";
import { XFN_MAIN } from "../harness/paths.ts";
import { type Started, Workspace } from "../harness/workspace.ts";

// `xfn dev cluster`, and the API server of the tests: its features, and its clean-up.

/** Waits until a program has printed this text on stdout. */
async function printed(started: Started, pattern: RegExp): Promise<RegExpExecArray> {
  let text = "";
  return await new Promise((resolve, reject) => {
    started.child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const found = pattern.exec(text);
      if (found !== null) resolve(found);
    });
    void started.finished.then(({ stderr }) => reject(new Error(`it has ended: ${stderr}`)));
  });
}

/** Processes with a folder in their command lines. */
async function processesIn(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(
    pids.map(async (pid) => (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ")),
  );
  return commands.filter((command) => command.includes(folder));
}

/** The processes with a working directory. */
async function programsIn(folder: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => "")));
  return pids.filter((_, index) => folders[index] === folder).map(Number);
}

/** The TCP ports on which a process listens. */
async function listeningPorts(pid: number): Promise<number[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")));
  const inodes = new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8")));
  const rows = tables.flatMap((table) => table.trim().split("\n").slice(1)).map((row) => row.trim().split(/\s+/));
  // Columns of proc_net_tcp: local address, state (0A: listening), inode.
  const listening = rows.filter((row) => row[3] === "0A" && inodes.has(row[9] ?? ""));
  return listening.map((row) => Number.parseInt(row[1]?.split(":")[1] ?? "", 16));
}

/** The binaries for the workspace's user, whose cache is another one. */
function binariesOf(workspace: Workspace): Record<string, string> {
  const { binaries } = findBinaries();
  return {
    KUBEBUILDER_ASSETS: dirname(binaries?.["kube-apiserver"] ?? ""),
    PATH: `${workspace.environment()["PATH"]}`,
  };
}

describe("xfn dev cluster", () => {
  test("has help with an example", () => {
    const { status, stdout } = spawnSync(process.execPath, [XFN_MAIN, "dev", "cluster", "--help"], {
      encoding: "utf8",
    });
    expect(status).toBe(0);
    expect(stdout).toContain("$ xfn dev cluster --data-dir ./cluster");
  });

  test("names the variable and Go if there are neither binaries nor Go", async () => {
    await using workspace = await Workspace.create();
    const { code, stdout, stderr } = await workspace.xfn(["dev", "cluster"], { env: { PATH: "/nonexistent" } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/API server binaries are missing \(.*kube-apiserver.*\).*KUBEBUILDER_ASSETS.*Go/s);
  });

  test("refuses user names that are invalid in a kubeconfig", async () => {
    await using workspace = await Workspace.create();
    const { code, stderr } = await workspace.xfn(["dev", "cluster", "--users", "ada,../x"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--users");
  });
});

describe("xfn dev cluster", needs("api-server"), () => {
  test("serves kubectl until Ctrl-C, keeps its objects in --data-dir, and ends its processes", async () => {
    await using workspace = await Workspace.create();
    const env = binariesOf(workspace);
    const kubectl = (kubeconfig: string, ...args: readonly string[]): Promise<{ stdout: string; stderr: string }> =>
      workspace.start([findBinaries().binaries?.kubectl ?? "kubectl", "--kubeconfig", kubeconfig, ...args]).finished;
    const start = async (): Promise<{ cluster: Started; kubeconfig: string }> => {
      const cluster = workspace.startXfn(["dev", "cluster", "--data-dir", "cluster", "--users", "ada"], { env });
      const [, kubeconfig = ""] = await printed(cluster, /^export KUBECONFIG=(.*)\n# as ada: .*\n/);
      return { cluster, kubeconfig };
    };

    const first = await start();
    expect(first.kubeconfig).toBe(workspace.path("cluster/kubeconfig"));
    expect((await kubectl(first.kubeconfig, "create", "configmap", "kept")).stdout).toContain("created");
    // Other users than admin need RBAC, which grants nothing yet.
    expect((await kubectl(`${first.kubeconfig}-ada`, "get", "configmaps")).stderr).toContain("Forbidden");
    // A second cluster would wait for the first one's etcd without a message.
    const second = await workspace.xfn(["dev", "cluster", "--data-dir", "cluster"], { env });
    expect(second.code).toBe(2);
    expect(second.stderr).toContain("in use by process");
    first.cluster.child.kill("SIGINT");
    expect(await first.cluster.finished).toMatchObject({ code: 0 });
    expect(await processesIn(workspace.root)).toEqual([]);

    const again = await start();
    expect((await kubectl(again.kubeconfig, "get", "configmap", "kept", "-o", "name")).stdout).toBe("configmap/kept\n");
    // Its programs end with it, even if it is killed.
    again.cluster.child.kill("SIGKILL");
    await again.cluster.finished;
    await expect.poll(() => processesIn(workspace.root)).toEqual([]);
  });
});

describe("the tests' API server", needs("api-server"), () => {
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
  let server: TestApiServer;
  beforeAll(async () => {
    server = await startApiServer({ users: ["ada"] });
    await server.apply(crd);
    await server.kubectl(["wait", "crd/widgets.example.org", "--for", "condition=Established"]);
  });
  afterAll(async () => {
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
    expect(await processesIn(server.folder)).toEqual([]);
  });

  test("collects garbage of a new kind after a restart of its controller manager", async () => {
    await server.restartControllerManager();
    const metadata = { name: "owner", namespace: "default" };
    await server.apply({ apiVersion: "example.org/v1", kind: "Widget", metadata });
    const uid = await server.kubectl(["get", "widget", "owner", "-o", "jsonpath={.metadata.uid}"]);
    const owner = { apiVersion: "example.org/v1", kind: "Widget", name: "owner", uid };
    const owned = { name: "owned", namespace: "default", ownerReferences: [owner] };
    await server.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: owned });
    await server.kubectl(["delete", "widget", "owner"]);
    await server.kubectl(["wait", "configmap/owned", "--for", "delete", "--timeout", "30s"]);
  });

  test("grants users the permissions of RBAC", async () => {
    await expect(server.kubectl(["get", "secrets"], { as: "ada" })).rejects.toThrow("Forbidden");
    await server.kubectl(["create", "clusterrolebinding", "ada", "--clusterrole", "view", "--user", "ada"]);
    await expect
      .poll(() => server.kubectl(["auth", "can-i", "list", "pods"], { as: "ada" }).catch(String))
      .toBe("yes\n");
    await expect(server.kubectl(["get", "secrets"], { as: "ada" })).rejects.toThrow("Forbidden");
  });

  describe("runs commands of kubectl in the process of the test, such as", () => {
    let inProcess: KubectlInProcess;
    beforeAll(() => {
      inProcess = kubectlInProcess(server.admin.kubeconfig);
    });
    afterAll(() => inProcess.close());

    const program = async (args: readonly string[]): Promise<string> => {
      const env = { KUBECONFIG: server.admin.kubeconfig, HOME: server.folder };
      return (await promisify(execFile)(server.binaries.kubectl, args, { env })).stdout;
    };
    const template = (text: string): string[] => ["-o", `jsonpath=${text}`];

    test.each([
      ["get", "configmaps", "-n", "kube-system", "-o", "name"],
      ["get", "clusterrole/admin", ...template("{.metadata.labels.kubernetes\\.io/bootstrapping}, {.metadata}")],
      ["get", "crd,roles", "-n", "kube-system", ...template("{.items[*].metadata.uid} {.items[0].metadata.name}")],
      ["get", "namespaces", ...template('{range .items[*]}{.metadata.name}: {.status}{"\\n"}{end}')],
      ["get", "ns", ...template("{.items[?(@.metadata.name=='default')].metadata.labels}")],
      ["get", "ns", ...template('{.items[?(@.metadata.name=="no")].metadata} {.items[-1:].missing[*].field}')],
      ["get", "roles", "-A", "-l", "kubernetes.io/bootstrapping=rbac-defaults", "-o", "name"],
      ["get", "clusterrole", "admin", "view", "-o", "name"],
      ["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"],
      ["wait", "ns/default", "--for=jsonpath={.status.phase}=Active"],
      ["auth", "can-i", "list", "widgets", "-n", "default"],
    ])("%s %s %s %s %s", async (...args) => {
      expect(await inProcess.run(args, "")).toBe(await program(args));
    });

    test("get -o json", async () => {
      const args = ["get", "ns", "default", "-o", "json"];
      expect(JSON.parse(await inProcess.run(args, ""))).toEqual(JSON.parse(await program(args)));
    });

    test.each([
      ["get", "configmap", "missing", "-o", "name"],
      ["get", "widgets"],
      ["get", "gadgets", "-o", "name"],
      ["delete", "configmap", "missing"],
      ["apply", "-f", "file.yaml"],
      ["create", "configmap", "new"],
      ["patch", "ns", "default", "-p", "{}"],
    ])("but not %s %s %s, whose words are the program's", async (...args) => {
      await expect(inProcess.run(args, "")).rejects.toMatchObject({ name: "NotImitated" });
    });
  });

  test("keeps its objects across a restart and a crash", async () => {
    const { endpoint } = server;
    await server.kubectl(["create", "configmap", "before"]);
    await server.restart();
    await server.kubectl(["get", "configmap", "before"]);
    await server.kill();
    await expect(server.kubectl(["get", "configmap", "before", "--request-timeout", "2s"])).rejects.toThrow();
    await server.restart();
    await server.kubectl(["get", "configmap", "before"]);
    expect(server.endpoint).toBe(endpoint);
  });

  test("has no port besides that of the API server, which asks for credentials", async () => {
    const ports = new Set<number>();
    for (const program of await programsIn(server.folder))
      for (const port of await listeningPorts(program)) ports.add(port);
    expect([...ports]).toEqual([Number(new URL(server.endpoint).port)]);
  });

  test("only its owner can read its tokens and keys", async () => {
    expect((await stat(server.folder)).mode & 0o077).toBe(0);
    for (const name of ["tokens.csv", "sa.key", "kubeconfig"])
      expect((await stat(join(server.folder, name))).mode & 0o077).toBe(0);
  });
});

test("binaries of other versions have other folders", async () => {
  await using workspace = await Workspace.create();
  const cache = join(workspace.root, "cache");
  const folder = builtBinaries({ XDG_CACHE_HOME: cache });
  expect(dirname(folder)).toBe(join(cache, "xfn/api-server"));
  expect(basename(folder)).toMatch(/^[0-9a-f]{16}$/);
});
