import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { connect as connectTls } from "node:tls";
import { FunctionClient, FunctionConnection, type FunctionRequest } from "@xfn/function-grpc";
import { openStore } from "@xfn/oci-rootfs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addHostBases } from "../harness/host-bases.ts";
import { needs } from "../harness/needs.ts";
import { NO_HURRY_MS } from "../harness/patience.ts";
import { runnerOf } from "../harness/shell-function.ts";
import { type Started, Workspace } from "../harness/workspace.ts";

// A function of the SDK, built once: by FunctionIO on stdin, and over gRPC as Crossplane calls it.

const FUNCTION = `import { compose } from "@xfn/functionio/sdk";
export default compose(({ xr, config, desired, results }) => {
  const prefix = config?.["prefix"] ?? "";
  desired.apply("bucket", { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { name: prefix + xr["spec"].name } },
    { readinessChecks: [{ type: "None" }] });
  desired.composite.status({ bucket: prefix + xr["spec"].name });
  desired.composite.connectionDetail("url", "s3://" + xr["spec"].name);
  results.normal("composed");
});
`;
const XR = {
  apiVersion: "example.org/v1",
  kind: "XBucket",
  metadata: { name: "b" },
  spec: { name: "photos", n: null },
};
const EARLIER = { apiVersion: "v1", kind: "ConfigMap", data: { empty: {}, list: [], nothing: null } };
const REQUEST: FunctionRequest = {
  observed: { composite: { resource: XR }, resources: new Map() },
  desired: { resources: new Map([["earlier", { resource: EARLIER }]]) },
  input: { prefix: "eu-" },
};
const META = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata:\n  name: function-bucket\n";

let workspace: Workspace;

beforeAll(async () => {
  workspace = await Workspace.create();
  await addHostBases(workspace, "node");
  await workspace.write("bucket/function.ts", FUNCTION);
  await workspace.write("package/crossplane.yaml", META);
  const { code, stderr } = await workspace.xfn(["build", "bucket", "-t", "bucket:v1", "--no-check"]);
  expect(code, stderr).toBe(0);
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
});

async function overGrpc(
  connection: FunctionConnection,
): Promise<Awaited<ReturnType<FunctionClient["run"]>>["response"]> {
  try {
    return (await new FunctionClient(connection).run(REQUEST, { timeoutMs: NO_HURRY_MS })).response;
  } finally {
    connection.close();
  }
}

describe("in a container", needs("crun"), () => {
  test("desires the same by FunctionIO and over gRPC, as an image and as a package", async () => {
    const io = {
      apiVersion: "apiextensions.crossplane.io/v1alpha1",
      kind: "FunctionIO",
      config: REQUEST.input,
      observed: { composite: { resource: XR } },
      desired: { resources: [{ name: "earlier", resource: EARLIER }] },
    };
    await workspace.write("io.json", JSON.stringify(io));
    const ran = await workspace.xfn(["run", "bucket:v1", "io.json"]);
    expect(ran.code, ran.stderr).toBe(0);
    const byIo = JSON.parse(ran.stdout) as {
      desired: { resources: { name: string; resource: object }[]; composite: { resource: object } };
    };
    const packed = ["xpkg", "build", "-f", "package", "--embed-runtime-image", "bucket:v1", "-o", "bucket.xpkg"];
    expect(await workspace.xfn(packed)).toMatchObject({ code: 0, stderr: "" });
    expect(await workspace.xfn(["xpkg", "push", "-f", "bucket.xpkg", "oci:package:v1"])).toMatchObject({ code: 0 });
    const runner = await runnerOf(workspace);
    try {
      for (const image of ["bucket:v1", `oci:${workspace.path("package")}:v1`]) {
        const served = await runner.serve(image);
        const response = await overGrpc(new FunctionConnection(await served.connect()));
        served.release();
        const resources = [...response.desired.resources].map(([name, { resource }]) => ({ name, resource }));
        const expected = byIo.desired.resources.map(({ name, resource }) => ({ name, resource }));
        expect(resources.toSorted(byName)).toEqual(expected.toSorted(byName));
        expect(response.desired.composite?.resource).toEqual(byIo.desired.composite.resource);
        expect(response.desired.composite?.connectionDetails).toEqual(new Map([["url", Buffer.from("s3://photos")]]));
        expect(response.desired.resources.get("bucket")?.ready).toBe(true);
        expect(response.results).toEqual([{ severity: "Normal", message: "composed", target: "Composite" }]);
      }
    } finally {
      await runner.close();
    }
  });
});

const COUNT = `import { compose } from "@xfn/functionio/sdk";
export default compose(({ required, context, desired, conditions }) => {
  const maps = required.resources("maps", { apiVersion: "v1", kind: "ConfigMap", matchLabels: { count: "me" } });
  if (maps === undefined) return;
  context.set("example.org/count", maps.length);
  conditions.set("Counted", { status: "True", reason: "Done" });
  desired.apply("count", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "count" }, data: { maps: String(maps.length) } });
});
`;
const PIPELINE = `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: counted }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XBucket }
  mode: Pipeline
  pipeline:
    - { step: count, functionRef: { name: function-count } }
    - { step: bucket, functionRef: { name: function-bucket }, input: { prefix: eu- } }
`;
const named = (name: string, image: string): string =>
  `---\napiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: { name: ${name} }\nspec: { package: "${image}" }\n`;
const MAP = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: one, namespace: d, labels: { count: me } }\n";

describe("in a Composition of mode Pipeline", needs("crun"), () => {
  test("requires resources, leaves a context, sets a condition, and keeps what the step before desires", async () => {
    await workspace.write("count/function.ts", COUNT);
    expect(await workspace.xfn(["build", "count", "-t", "count:v1"])).toMatchObject({ code: 0 });
    await workspace.write("xr.yaml", JSON.stringify(XR));
    await workspace.write("pipeline.yaml", PIPELINE);
    await workspace.write(
      "functions.yaml",
      named("function-count", "count:v1") + named("function-bucket", "bucket:v1"),
    );
    await workspace.write("required.yaml", MAP);
    const args = ["xr.yaml", "pipeline.yaml", "functions.yaml", "--required-resources", "required.yaml", "-c"];
    const { code, stdout, stderr } = await workspace.xfn(["render", ...args]);
    expect(code, stderr).toBe(0);
    for (const line of ["type: Counted", 'maps: "1"', "name: eu-photos", "example.org/count: 1"])
      expect(stdout).toContain(line);
  });
});

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

describe("in a pod of Crossplane", needs("openssl"), () => {
  test("serves callers with a certificate of the CA, refuses others, and ends at SIGTERM", async () => {
    const folder = await certificates();
    const { started, port } = await serve([], { TLS_SERVER_CERTS_DIR: folder });
    const [ca, cert, key] = ["ca.crt", "tls.crt", "tls.key"].map((file) => readFileSync(join(folder, file)));
    const options = { host: "127.0.0.1", port, ca, ALPNProtocols: ["h2"] };
    const response = await overGrpc(new FunctionConnection(connectTls({ ...options, cert, key })));
    expect([...response.desired.resources.keys()].toSorted()).toEqual(["bucket", "earlier"]);
    for (const connection of [
      new FunctionConnection(connectTls(options)),
      new FunctionConnection(`http://127.0.0.1:${port}`),
    ])
      await expect(overGrpc(connection)).rejects.toMatchObject({ code: "ConnectionLost" });
    started.child.kill("SIGTERM");
    expect(await started.finished).toMatchObject({ code: 0, stdout: "" });
  });

  test.each([
    [["--address", "127.0.0.1:0"], {}, "--insecure"],
    [["--insecure", "--adress=:1"], {}, "--adress"],
    [["--insecure", "--address", "here"], {}, "HOST:PORT"],
    [["--insecure", "--max-recv-message-size", "0"], {}, "--max-recv-message-size"],
    [[], { TLS_SERVER_CERTS_DIR: "/nowhere" }, "/nowhere"],
  ])("does not start with %j %j, and says why", async (args, env, why) => {
    const { code, stdout, stderr } = await start(args, env).finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(why);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});

let bundle = "";
beforeAll(async () => {
  const store = await openStore({ dir: workspace.cache });
  const { layers } = await store.image("bucket:v1");
  // The code is a layer of its own; its dependencies are in another.
  const folder = workspace.path("root");
  mkdirSync(folder);
  for (const layer of layers.slice(1)) execFileSync("cp", ["-r", `${layer}/.`, folder]);
  bundle = join(folder, "function/index.cjs");
});

const start = (args: readonly string[], env: Record<string, string>): Started =>
  workspace.start([process.execPath, bundle, ...args], { env });

async function serve(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ started: Started; port: number }> {
  const started = start([...args, "--address", "127.0.0.1:0"], env);
  const listening = (): RegExpExecArray | null => / on \S+:(\d+),/.exec(started.stderr());
  await expect.poll(listening).not.toBeNull();
  return { started, port: Number(listening()?.[1]) };
}

/** A CA and one certificate of it for both ends, in the files that Crossplane mounts. */
async function certificates(): Promise<string> {
  const path = (name: string): string => workspace.path("tls", name);
  const extensions = await workspace.write("tls/extensions", "subjectAltName=IP:127.0.0.1\n");
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...key, "-days", "2", "-subj", "/CN=ca", "-keyout", path("ca.key"), "-out", path("ca.crt"));
  openssl("req", ...key, "-subj", "/CN=function", "-keyout", path("tls.key"), "-out", path("csr"));
  const ca = ["-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-CAcreateserial", "-days", "2"];
  openssl("x509", "-req", "-in", path("csr"), ...ca, "-extfile", extensions, "-out", path("tls.crt"));
  return workspace.path("tls");
}
