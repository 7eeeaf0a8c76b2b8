import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openStore, readImageFile, readImageManifest } from "@xfn/oci-rootfs";
import { readPackage } from "@xfn/package";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../harness/needs.ts";
import { startRegistry, type TestRegistry } from "../harness/registry.ts";
import { type Finished, Workspace } from "../harness/workspace.ts";

// xfn xpkg: packages in the format of Crossplane's tools.

const META = `apiVersion: meta.pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-mood
spec:
  crossplane:
    version: ">=v1.14.0-0"
`;
const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: inputs.mood.acme.example
`;
const EXAMPLE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: example\n";
const STREAM = `---\n${META.replace('">=v1.14.0-0"', "'>=v1.14.0-0'")}---\n${CRD}`;

let workspace: Workspace;

beforeAll(async () => {
  workspace = await Workspace.create();
  await workspace.write("fn/function", "#!/bin/sh\ncat\n", { mode: 0o755 });
  await workspace.write("package/crossplane.yaml", META);
  await workspace.write("package/input/crd.yaml", CRD);
  await workspace.write("examples/mood.yaml", EXAMPLE);
  expect(await workspace.xfn(["build", "fn", "-t", "mood:v1"])).toMatchObject({ code: 0 });
});

afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

async function xpkg(...args: string[]): Promise<Finished> {
  return await workspace.xfn(["xpkg", ...args]);
}

const build = (...args: string[]): Promise<Finished> => xpkg("build", "-f", "package", ...args);

describe("a package's file", () => {
  test("has the runtime's layers, the objects and the examples, with their labels", async () => {
    expect(await build("--embed-runtime-image", "mood:v1", "-o", "mood.xpkg")).toEqual(
      expect.objectContaining({
        code: 0,
        stdout: "mood.xpkg\n",
        stderr: expect.stringMatching(/^xfn: Crossplane calls functions over gRPC.*\n$/),
      }),
    );
    const names = execFileSync("tar", ["-tf", workspace.path("mood.xpkg")], { encoding: "utf8" })
      .trim()
      .split("\n");
    expect(names.at(-1)).toBe("manifest.json");
    const read = (name: string): unknown =>
      JSON.parse(execFileSync("tar", ["-xOf", workspace.path("mood.xpkg"), name], { encoding: "utf8" }));
    const [{ Config, Layers }] = read("manifest.json") as [{ Config: string; Layers: string[] }];
    expect(names).toEqual([Config, ...Layers, "manifest.json"]);
    const { config } = read(Config) as { config: { Labels: Record<string, string>; Entrypoint: string[] } };
    expect(config.Entrypoint).toEqual(["/function/function"]);
    const label = (name: string | undefined): string | undefined =>
      config.Labels[`io.crossplane.xpkg:sha256:${name?.replace(".tar.gz", "")}`];
    // The runtime image was a package itself; only its files are left.
    expect(Layers.map(label)).toEqual([...Layers.slice(2).map(() => undefined), "base", "upbound"]);
  });

  test("has the same bytes for the same folder, and a name derived from its content", async () => {
    const first = await build();
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining("--embed-runtime-image") });
    const path = first.stdout.trim();
    expect(path).toMatch(/\/package\/function-mood-[0-9a-f]{12}\.xpkg$/);
    const bytes = readFileSync(path);
    expect((await build()).stdout).toBe(first.stdout);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect((await build("-e", "package-without-examples")).stdout).not.toBe(first.stdout);
  });

  test("can be extracted", async () => {
    await build("-o", "objects.xpkg");
    expect(await xpkg("extract", "--from-xpkg", "objects.xpkg", "-o", "objects.yaml")).toMatchObject({
      code: 0,
      stdout: "objects.gz\n",
    });
    expect(gunzipSync(readFileSync(workspace.path("objects.gz"))).toString()).toBe(STREAM);
  });

  test("can take the runtime from a file of docker save", needs("skopeo"), async () => {
    await workspace.xfn(["build", "fn", "-t", "mood:v1", "-o", "oci:layout:v1"]);
    const tarball = workspace.path("runtime.tar");
    execFileSync("skopeo", ["copy", "-q", `oci:${workspace.path("layout")}:v1`, `docker-archive:${tarball}:mood:v1`]);
    expect(await build("--embed-runtime-image-tarball", "runtime.tar", "-o", "tarball.xpkg")).toMatchObject({
      code: 0,
    });
    expect(await xpkg("push", "-f", "tarball.xpkg", "oci:tarball:v1")).toMatchObject({ code: 0 });
    const store = await openStore({ dir: join(workspace.root, "tarball-store") });
    const image = await store.image(`oci:${workspace.path("tarball")}:v1`);
    expect(readImageFile(image.layers, "/function/function", 100)?.toString()).toBe("#!/bin/sh\ncat\n");
    expect(image.config.config?.Entrypoint).toEqual(["/function/function"]);
  });

  test("of a runtime that is a package itself labels only its own layers", async () => {
    await build("--embed-runtime-image", "mood:v1", "-o", "inner.xpkg");
    await workspace.write("outer/crossplane.yaml", META.replace("function-mood", "function-outer"));
    const outer = ["-f", "outer", "-e", "none", "--embed-runtime-image-tarball", "inner.xpkg", "-o", "outer.xpkg"];
    expect(await xpkg("build", ...outer)).toMatchObject({ code: 0 });
    expect(await xpkg("push", "-f", "outer.xpkg", "oci:outer-layout:v1")).toMatchObject({ code: 0 });
    const store = await openStore({ dir: join(workspace.root, "outer-store") });
    const image = await store.image(`oci:${workspace.path("outer-layout")}:v1`);
    const { layers } = readImageManifest(store, image);
    const annotated = layers.filter(({ annotations }) => annotations !== undefined);
    expect(annotated).toEqual([layers.at(-1)]);
    expect(readImageFile(image.layers, "/package.yaml", 10_000)?.toString()).toContain("function-outer");
  });

  test("can be read by skopeo", needs("skopeo"), async () => {
    await build("--embed-runtime-image", "mood:v1", "-o", "mood.xpkg");
    const layout = workspace.path("by-skopeo");
    execFileSync("skopeo", ["copy", "-q", `docker-archive:${workspace.path("mood.xpkg")}`, `oci:${layout}:v1`]);
    const store = await openStore({ dir: join(workspace.root, "skopeo-store") });
    const { layers } = await store.image(`oci:${layout}:v1`);
    expect(readImageFile(layers, "/package.yaml", 10_000)?.toString()).toBe(STREAM);
    expect(readImageFile(layers, "/.up/examples.yaml", 10_000)?.toString()).toBe(`---\n${EXAMPLE}`);
  });
});

describe("a pushed package", needs("docker-registry", "skopeo"), () => {
  let registry: TestRegistry;
  beforeAll(async () => {
    registry = await startRegistry();
  });
  afterAll(async () => {
    await registry.stop();
  });

  const inspect = (name: string): Record<string, unknown> =>
    JSON.parse(
      execFileSync("skopeo", ["inspect", "--raw", "--tls-verify=false", `docker://${name}`], { encoding: "utf8" }),
    ) as Record<string, unknown>;
  const push = (name: string, ...args: string[]): Promise<Finished> =>
    xpkg("push", `${registry.host}/acme/${name}`, "--insecure-registry", registry.host, ...args);

  test("has an annotated base layer, and the requested annotations", async () => {
    await build("--embed-runtime-image", "mood:v1", "-o", "mood.xpkg");
    const { code, stdout } = await push("mood:v1.0.0", "-f", "mood.xpkg", "-a", "team=a");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${registry.host}/acme/mood:v1\\.0\\.0@sha256:[0-9a-f]{64}\n$`)),
    });
    const manifest = inspect(stdout.trim().replace(/:v1\.0\.0@/, "@"));
    expect(manifest).toMatchObject({ annotations: { team: "a" } });
    const layers = manifest["layers"] as { annotations?: Record<string, string> }[];
    expect(layers.map(({ annotations }) => annotations?.["io.crossplane.xpkg"]).slice(-2)).toEqual(["base", "upbound"]);
    expect(layers.slice(0, -2).every(({ annotations }) => annotations === undefined)).toBe(true);
  });

  test("can be extracted from any location", async () => {
    await build("-o", "mood.xpkg");
    await push("objects:v1", "-f", "mood.xpkg");
    const from = `${registry.host}/acme/objects:v1`;
    expect(await xpkg("extract", from, "--insecure-registry", registry.host)).toMatchObject({
      code: 0,
      stdout: "out.gz\n",
    });
    expect(gunzipSync(readFileSync(workspace.path("out.gz"))).toString()).toBe(STREAM);
  });

  test("of several files is an index, one image for each platform", async () => {
    const files: string[] = [];
    for (const architecture of ["amd64", "arm64"]) {
      await workspace.write(`${architecture}/Dockerfile`, "");
      await workspace.write(`${architecture}/function`, elf(architecture), { mode: 0o755 });
      const tag = `mood-${architecture}:v1`;
      const platform = `linux/${architecture}`;
      expect(await workspace.xfn(["build", architecture, "-t", tag, "--platform", platform])).toMatchObject({
        code: 0,
      });
      files.push(`${architecture}.xpkg`);
      const runtime = ["--embed-runtime-image", tag, "--platform", platform, "-o", `${architecture}.xpkg`];
      expect(await build(...runtime)).toMatchObject({ code: 0 });
    }
    expect(await push("multi:v1", "-f", files.join(","))).toMatchObject({ code: 0 });
    const { manifests } = inspect(`${registry.host}/acme/multi:v1`) as { manifests: { platform: unknown }[] };
    expect(manifests.map(({ platform }) => platform)).toEqual([
      { os: "linux", architecture: "amd64" },
      { os: "linux", architecture: "arm64" },
    ]);
    expect(await push("multi:v2", "-f", `${files[0]},${files[0]}`)).toMatchObject({ code: 2 });
  });
});

describe("the sources that init writes", () => {
  test.each(["configuration", "provider-template"])("of a %s can be built, and installed", async (template) => {
    const folder = `new-${template}`;
    const made = await xpkg("init", "acme-platform", template, "-d", folder);
    expect(made).toMatchObject({ code: 0, stdout: `${folder}\n` });
    const built = await xpkg("build", "-f", folder, "-e", `${folder}/examples`, "-o", `${template}.xpkg`);
    expect(built).toMatchObject({ code: 0, stdout: `${template}.xpkg\n` });
    await xpkg("push", "-f", `${template}.xpkg`, `oci:layout-${template}:v1`);
    const { kind, name, objects } = await readPackage({ from: `oci:${workspace.path(`layout-${template}`)}:v1` });
    expect({ kind, name }).toEqual({
      kind: template === "configuration" ? "Configuration" : "Provider",
      name: "acme-platform",
    });
    expect(objects.length).toBeGreaterThan(0);
  });

  test("do not replace what is there", async () => {
    await workspace.write("full/file", "mine");
    const { code, stderr } = await xpkg("init", "acme", "provider", "-d", "full");
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("is not empty") });
    expect(readdirSync(workspace.path("full"))).toEqual(["file"]);
  });

  test("of a configuration can be rendered", async () => {
    await xpkg("init", "acme-render", "configuration", "-d", "rendered");
    const api = "rendered/apis/bucket";
    const files = ["rendered/examples/bucket.yaml", `${api}/composition.yaml`];
    const { code, stdout, stderr } = await workspace.xfn(["render", ...files, "--xrd", `${api}/definition.yaml`]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("region: eu-west-1");
    // A namespace in the base of a template has no effect in a cluster.
    expect(stdout).toContain("namespace: default");
    // The definition can also come from the package.
    await xpkg("build", "-f", "rendered", "-o", "rendered.xpkg", "-e", "rendered/examples");
    await xpkg("push", "-f", "rendered.xpkg", "oci:rendered-layout:v1");
    for (const extensions of ["rendered.xpkg", "oci:rendered-layout:v1", "rendered.xpkg,package/input/crd.yaml"]) {
      const checked = await workspace.xfn(["validate", extensions, ...files.slice(0, 1)]);
      expect(checked.stdout, checked.stderr).toContain("0 missing schemas, 1 success cases");
    }
    const absent = await workspace.xfn(["validate", "absent.xpkg", ...files.slice(0, 1)]);
    expect(absent).toMatchObject({ code: 2, stderr: expect.stringContaining("absent.xpkg") });
  });
});

describe("wrong usage and wrong input", () => {
  test.each([
    ["push", ["mood:v1"]],
    ["push", ["ghcr.io/acme/mood@sha256:".padEnd(90, "0")]],
    ["push", ["ghcr.io/acme/mood:v1", "-f", ""]],
    ["push", ["ghcr.io/acme/mood:v1", "-f", "a.xpkg", "-a", "pair"]],
    ["extract", []],
    ["extract", ["x", "--from-daemon"]],
    ["build", ["-f", "absent"]],
    ["build", ["-f", "package", "-o", "absent/mood.xpkg"]],
    ["build", ["-f", "package", "-o", "package"]],
    ["build", ["-f", "package", "--embed-runtime-image-tarball", "absent.tar"]],
    ["push", ["ghcr.io/acme/mood:v1", "-f", "absent.xpkg"]],
    ["build", ["-f", "fn"]],
    ["build", ["-f", "package", "-e", "."]],
    ["build", ["-f", "package", "--embed-runtime-image", "a", "--embed-runtime-image-tarball", "b"]],
    ["build", ["-f", "package", "--ignore", "[z-a]"]],
  ])("ends with 2, an error on stderr and nothing on stdout: %s %j", async (command, args) => {
    const { code, stdout, stderr } = await xpkg(command, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^xfn: /);
  });

  test("reports a disallowed object in a package with its position", async () => {
    await workspace.write("wrong/crossplane.yaml", META);
    await workspace.write("wrong/secret.yaml", "apiVersion: v1\nkind: Secret\n");
    expect(await xpkg("build", "-f", "wrong")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/wrong\/secret\.yaml:1:1: Secret\.v1 cannot be in a Function package/),
    });
  });

  test("a file that is not a package is an error, and no temporary files remain", async () => {
    await workspace.write("none.xpkg", "no archive".repeat(200));
    for (const args of [
      ["extract", "--from-xpkg", "none.xpkg"],
      ["push", "oci:none:v1", "-f", "none.xpkg"],
    ]) {
      const { code, stdout } = await xpkg(...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    }
    expect(readdirSync(join(workspace.root, "tmp")).filter((name) => name.startsWith("xfn-xpkg-"))).toEqual([]);
  });

  test("help of each command has an example and exit codes", async () => {
    for (const command of ["init", "build", "push", "install", "update", "extract"]) {
      const { code, stdout } = await xpkg(command, "--help");
      expect(code).toBe(0);
      expect(stdout).toContain(`$ xfn xpkg ${command} `);
      expect(stdout).toContain("Exit code 0; 1");
    }
  });
});

const MACHINES: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

/** The header of a static program, which is never executed. */
function elf(architecture: string): Uint8Array {
  const header = Buffer.alloc(64);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(header);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(MACHINES[architecture] ?? 0, 18);
  header.writeUInt16LE(56, 54);
  return header;
}
