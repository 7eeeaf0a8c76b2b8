import { spawn, spawnSync } from "node:child_process";
import { chmod, chown, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject, type JsonObject, listAt, objectAt } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { CHECKOUT, RUNNER_MAIN } from "../harness/paths.ts";
import { type Bind, HOST_ID, podConfig } from "../harness/pod-config.ts";
import { clientOf } from "../harness/runner-server.ts";
import { Workspace } from "../harness/workspace.ts";

// The runner's container of deploy/base/deployment.yaml, as a kubelet has runc create it: with its user, privileges,
// /proc, and volumes of root. Only this shows whether namespaces can be created in it.

describe("the runner of deploy/ in its pod", needs("root", "runc", "crun"), () => {
  let workspace: Workspace;
  let image: string;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await chmod(workspace.root, 0o755);
    image = await buildImage(workspace);
  });
  afterAll(() => workspace[Symbol.asyncDispose]());

  test("runs a function", async () => {
    await using pod = await startPod(image);
    using client = clientOf({ endpoint: `unix:${pod.socket}` });
    expect(Buffer.from(await client.run("oci:/image", Buffer.from("hello\n"))).toString()).toBe("hello\n");
  });

  test("cannot run one with a masked /proc", async () => {
    await using pod = await startPod(image, { procMount: "Default" });
    using client = clientOf({ endpoint: `unix:${pod.socket}` });
    await expect(client.run("oci:/image", Buffer.from("hello\n"))).rejects.toMatchObject({
      code: "NamespaceUnavailable",
    });
  });
});

/** A function that writes its input, as an image layout. */
async function buildImage(workspace: Workspace): Promise<string> {
  await workspace.write("function/function", "#!/bin/sh\ncat\n", { mode: 0o755 });
  const image = workspace.path("image");
  const built = await workspace.xfn(["build", workspace.path("function"), "-t", "test/cat", "-o", `oci:${image}`]);
  if (built.code !== 0) throw new Error(`cannot build the function: ${built.stderr}`);
  // The pod has another user than the builder.
  spawnSync("chmod", ["-R", "a+rX", image]);
  return image;
}

interface Pod extends AsyncDisposable {
  /** The folder of the socket's volume on the host. */
  readonly socket: string;
}

async function startPod(image: string, changes: JsonObject = {}): Promise<Pod> {
  await using stack = new AsyncDisposableStack();
  const workspace = stack.use(await Workspace.create());
  await chmod(workspace.root, 0o755);
  const { pod, container } = await readDeployment();
  const volumes = volumesOf(container);
  const folders = await Promise.all(
    volumes.map(async (path) => {
      const folder = await workspace.makeFolder(join("work", "volumes", path));
      // Like a kubelet's emptyDir: owned by root, with the pod's fsGroup.
      await chown(folder, HOST_ID, HOST_ID + Number(pod["fsGroup"]));
      await chmod(folder, 0o2777);
      return { source: folder, destination: path };
    }),
  );
  const shared = ["/usr", "/etc", CHECKOUT, dirname(dirname(process.execPath))].map((path) => ({
    source: path,
    destination: path,
  }));
  const readOnly = [...shared, { source: image, destination: "/image" }];
  const rootfs = await makeRootfs(workspace, [...folders, ...readOnly]);
  const bundle = dirname(rootfs);
  const security = { ...objectAt(container, "securityContext"), ...changes };
  const config = podConfig({
    args: [process.execPath, RUNNER_MAIN, ...listAt(container, "args").map(String)],
    env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
    user: Number(pod["runAsUser"]),
    security,
    readOnly,
    writable: folders,
  });
  await writeFile(join(bundle, "config.json"), JSON.stringify(config));
  const id = `xfn-test-${process.pid}-${Date.now()}`;
  const child = spawn("runc", ["run", "--bundle", bundle, id], { stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  stack.defer(async () => {
    child.kill("SIGTERM");
    const killed = setTimeout(() => spawnSync("runc", ["delete", "--force", id]), 10_000);
    await ended;
    clearTimeout(killed);
  });
  for (const end = Date.now() + 30_000; !stderr.includes('"msg":"listening"'); await sleep(50)) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`the container does not run:\n${stderr}`);
  }
  const socket = folders.find(({ destination }) => destination === "/run/xfn")?.source ?? "";
  const owned = stack.move();
  return { socket: join(socket, "runner.sock"), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The pod's security context, and the runner's container. */
async function readDeployment(): Promise<{ pod: JsonObject; container: JsonObject }> {
  const text = await readFile(join(CHECKOUT, "deploy/base/deployment.yaml"), "utf8");
  const [document] = readDocuments(text, { source: "deployment.yaml" });
  const spec = objectAt(document?.value, "spec", "template", "spec");
  // A kubelet creates a user namespace for such a pod, as this test does.
  expect(spec["hostUsers"]).toBe(false);
  const container = listAt(spec, "initContainers").find((one) => isObject(one) && one["name"] === "runner");
  if (!isObject(container)) throw new Error("there is no container of the runner");
  return { pod: objectAt(spec, "securityContext"), container };
}

function volumesOf(container: JsonObject): string[] {
  return listAt(container, "volumeMounts").map((mount) => String(isObject(mount) ? mount["mountPath"] : ""));
}

// With the targets of all mounts: root of the pod's user namespace cannot create them.
async function makeRootfs(workspace: Workspace, mounts: readonly Bind[]): Promise<string> {
  const rootfs = await workspace.makeFolder("work/bundle/rootfs");
  const places = ["proc", "dev", "sys", ...mounts.map(({ destination }) => destination)];
  for (const place of places) await mkdir(join(rootfs, place), { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"]) await symlink(`usr/${name}`, join(rootfs, name));
  return rootfs;
}
