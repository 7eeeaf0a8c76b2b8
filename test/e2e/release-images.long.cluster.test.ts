import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, type JsonObject, listAt, objectAt } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BuiltImage, buildImages } from "../../scripts/image/build-images.ts";
import { startApiServer } from "../harness/api-server.ts";
import { startController } from "../harness/controller-program.ts";
import { needs } from "../harness/needs.ts";
import { podConfig } from "../harness/pod-config.ts";
import { Workspace } from "../harness/workspace.ts";

const MAX_COMPRESSED_BYTES = 60e6;
const VERSION = "0.1.0";

describe("the images of a release", needs("root", "runc", "umoci", "skopeo", "api-server"), () => {
  let workspace: Workspace;
  let images: readonly BuiltImage[];

  beforeAll(async () => {
    workspace = await Workspace.create();
    await chmod(workspace.root, 0o755);
    images = await build("images");
    for (const { name } of images) {
      const layout = `${workspace.path("images", name)}:${VERSION}`;
      run("skopeo", "copy", "--quiet", `oci:${layout}`, `oci:${workspace.path("own")}:${name}`);
      run("umoci", "unpack", "--image", `${workspace.path("own")}:${name}`, bundleOf(name));
      await chmod(bundleOf(name), 0o755);
    }
  });
  afterAll(() => workspace[Symbol.asyncDispose]());

  const build = async (folder: string) => {
    const scratch = await workspace.makeFolder(`${folder}-store`);
    return buildImages({ version: VERSION, output: workspace.path(folder), scratch });
  };
  const bundleOf = (name: string): string => workspace.path(`bundle-${name}`);

  test("have equal digests in two builds", async () => {
    expect(await build("again")).toEqual(images);
  });

  test.for(["xfn", "xfn-controller"])("%s is small, for two platforms, and has no shell", async (name) => {
    const blob = async (digest: string) =>
      JSON.parse(
        await readFile(workspace.path("images", name, "blobs", digest.replace(":", "/")), "utf8"),
      ) as JsonObject;
    const index = await blob(images.find((image) => image.name === name)!.digest);
    const platforms: string[] = [];
    for (const entry of listAt(index, "manifests")) {
      if (!isObject(entry)) throw new Error("not a descriptor");
      const platform = objectAt(entry, "platform");
      platforms.push(`${String(platform["os"])}/${String(platform["architecture"])}`);
      const manifest = await blob(String(entry["digest"]));
      const sizes = listAt(manifest, "layers").map((layer) => Number(isObject(layer) && layer["size"]));
      expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_COMPRESSED_BYTES);
      const config = objectAt(await blob(String(objectAt(manifest, "config")["digest"])), "config");
      expect(config).toMatchObject({ User: "65532:65532", Entrypoint: [`/usr/local/bin/${name}`] });
    }
    expect(platforms).toEqual(["linux/amd64", "linux/arm64"]);
    const programs = await Promise.all(
      ["usr/bin", "usr/local/bin"].map((folder) => readdir(join(bundleOf(name), "rootfs", folder))),
    );
    expect(programs).toEqual([
      name === "xfn" ? ["crun", "unshare"] : [],
      ["node", "xfn", "xfn-controller", "xfn-runner"],
    ]);
  });

  test("the controller starts in its container, and installs its CRDs", async () => {
    await using server = await startApiServer();
    const kubeconfig = workspace.path("kubeconfig");
    await copyFile(server.admin.kubeconfig, kubeconfig);
    await chmod(kubeconfig, 0o644);
    await mkdir(join(bundleOf("xfn-controller"), "rootfs/kubeconfig"), { recursive: true });
    const config = (args: readonly string[]) => ({
      ociVersion: "1.0.2",
      process: {
        user: { uid: 65_532, gid: 65_532 },
        args: ["/usr/local/bin/xfn-controller", ...args],
        env: ["PATH=/usr/local/bin:/usr/bin", "KUBECONFIG=/kubeconfig/file"],
        cwd: "/",
        noNewPrivileges: true,
      },
      root: { path: "rootfs", readonly: true },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
        { destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["mode=1777"] },
        { destination: "/kubeconfig/file", type: "bind", source: kubeconfig, options: ["bind", "ro"] },
      ],
      // In the network of the API server.
      linux: { namespaces: ["pid", "ipc", "uts", "mount"].map((type) => ({ type })) },
    });
    await writeFile(join(bundleOf("xfn-controller"), "rootfs/kubeconfig/file"), "");
    const file = join(bundleOf("xfn-controller"), "config.json");
    const inContainer = ["runc", "run", "--bundle", bundleOf("xfn-controller"), `xfn-test-${process.pid}`] as const;
    await writeFile(file, JSON.stringify(config(["--version"])));
    expect(run(...inContainer)).toBe(`${VERSION}\n`);
    await writeFile(file, JSON.stringify(config(["start", "--metrics-address", "127.0.0.1:0"])));
    await using controller = await startController("", { wrap: () => inContainer });
    expect((await fetch(`${controller.http}/readyz`)).status).toBe(200);
    expect(await server.kubectl(["get", "crd", "-o", "name"])).toContain("compositions.apiextensions.crossplane.io");
    expect(await controller.end("SIGTERM")).toBe(0);
  });

  test("the runner runs a function in its container", async () => {
    await workspace.write("function/function", "#!/bin/sh\ncat\n", { mode: 0o755 });
    const image = workspace.path("image");
    const built = await workspace.xfn(["build", workspace.path("function"), "-t", "test/cat", "-o", `oci:${image}`]);
    expect(built.code).toBe(0);
    run("chmod", "-R", "a+rX", image);
    const bundle = bundleOf("xfn");
    for (const folder of ["cache", "image"]) await mkdir(join(bundle, "rootfs", folder));
    const cache = await workspace.makeFolder("work/runner-cache");
    await chmod(cache, 0o777);
    const config = podConfig({
      args: ["/usr/local/bin/xfn-runner", "run", "oci:/image", "--cache-dir=/cache/images", "/etc/os-release"],
      env: ["PATH=/usr/local/bin:/usr/bin"],
      user: 65_532,
      security: {
        seccompProfile: { type: "Unconfined" },
        appArmorProfile: { type: "Unconfined" },
        procMount: "Unmasked",
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
      },
      readOnly: [{ source: image, destination: "/image" }],
      writable: [
        { source: cache, destination: "/cache" },
        { source: cache, destination: "/tmp" },
      ],
    });
    await writeFile(join(bundle, "config.json"), JSON.stringify(config));
    const ran = run("runc", "run", "--bundle", bundle, `xfn-test-runner-${process.pid}`);
    expect(ran).toBe(await readFile(join(bundle, "rootfs/etc/os-release"), "utf8"));
  });
});

/** Runs a program and returns its stdout. */
function run(command: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}
