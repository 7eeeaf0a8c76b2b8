import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { isObject, type JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type Certificates, makeCertificates } from "../harness/certificates.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { ANYTHING, definitionYaml } from "../harness/definition-yaml.ts";
import { buildGoProgram } from "../harness/go-program.ts";
import { buildGrpcImage } from "../harness/grpc-function.ts";
import { needs } from "../harness/needs.ts";
import { type RunningServer, startRunnerServer } from "../harness/runner-server.ts";
import { Workspace } from "../harness/workspace.ts";

// A Composition of today on an API server: xfn-controller, its runner on a socket, and one function of the official Go
// SDK three times: as a server that runs already, without and with TLS, and as a package of the operator.

const PACKAGE = "localhost/function-greeting:v1";

const DEFINITION = definitionYaml("XGreeting", {
  more: "claimNames: { kind: Greeting, plural: greetings }",
  spec: "{ type: object, properties: { name: { type: string } } }",
  status: ANYTHING,
});

const composition = (...references: string[]): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: greetings }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XGreeting }
  mode: Pipeline
  pipeline:
${references.map((reference, index) => `    - { step: step-${index}, functionRef: ${reference} }`).join("\n")}
`;

const greeting = (name: string): string => `
apiVersion: example.org/v1
kind: XGreeting
metadata: { name: ${name} }
spec: { name: Ada, compositionRef: { name: greetings } }
`;

// The function composes a ConfigMap without a namespace, which no cluster takes: its events and the failure to apply it
// show that the controller called it.
describe("xfn-controller calls function packages", needs("api-server", "crun", "go-functions", "openssl"), () => {
  let workspace: Workspace;
  let runner: RunningServer;
  let server: TestApiServer;
  let controller: RunningController;
  const processes: ChildProcess[] = [];
  let own: FunctionServer;
  let requires: NonNullable<TestResponse["requires"]> = {};
  let start: (pollInterval: string) => Promise<RunningController>;

  beforeAll(async () => {
    workspace = await Workspace.create();
    const program = buildGoProgram("go-greeting");
    await buildGrpcImage(workspace, { name: PACKAGE, program, env: { GREETING: "Hello" } });
    const [port, securePort] = [await freePort(), await freePort()];
    const certificates = await makeCertificates(workspace);
    const env = { ...process.env, TLS_SERVER_CERTS_DIR: certificatesFolder(workspace, certificates) };
    processes.push(
      spawn(program, ["--insecure", "--address", `127.0.0.1:${port}`], { stdio: "ignore" }),
      spawn(program, ["--address", `127.0.0.1:${securePort}`], { stdio: "ignore", env }),
    );
    const socket = `unix:${workspace.path("runner.sock")}`;
    runner = await startRunnerServer(workspace, ["--address", socket]);
    server = await startApiServer();
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    own = await serveTestFunction(({ required }) => ({
      conditions: [
        { type: "Greeted", status: 2, reason: "Done", message: "well", target: 2 },
        { type: "Internal", status: 2, reason: "Done" },
      ],
      results: [
        { message: "for all", target: 2 },
        { message: "for operators", target: 1 },
      ],
      composite: {
        ready: true,
        resource: { status: { greeting: "Hi", size: sizeOf(required("size")?.[0]) } },
      },
      requires,
      ttlMs: 600_000,
    }));
    const endpoints = [`endpoint=127.0.0.1:${port}`, `tls=https://127.0.0.1:${securePort}`];
    const sources = [...endpoints, `package=${PACKAGE}`, `own=http://${own.address}`];
    const tls = (["ca", "cert", "key"] as const).flatMap((part) => [`--function-tls-${part}`, certificates[part]]);
    const named = sources.map((source) => `function-${source}`);
    start = (pollInterval) =>
      startController(server.admin.kubeconfig, {
        args: [
          "--enable-composition-functions",
          "--poll-interval",
          pollInterval,
          "--runner",
          socket,
          ...tls,
          ...named.flatMap((source) => ["--function", source]),
        ],
      });
    controller = await start("1s");
    await apply(DEFINITION);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
  }, 900_000);
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await server?.stop();
    await runner?.[Symbol.asyncDispose]();
    own?.stop();
    for (const one of processes) if (one.kill()) await once(one, "exit");
    await workspace?.[Symbol.asyncDispose]();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl(["get", ...args])).trim();

  test.each([
    ["at an endpoint", "{ name: function-endpoint }"],
    ["at an endpoint that requires a client certificate", "{ name: function-tls }"],
    ["of a package that the operator names", "{ name: function-package }"],
  ])("%s", async (_, reference) => {
    const name = `xr-${reference.replace(/[^a-z]+/g, "-").replace(/^-|-$/g, "")}`;
    await apply(composition(reference));
    await expect.poll(() => apply(greeting(name)).then(() => "", String)).toBe("");
    await expect
      .poll(() => get("events", "-A", "-o", `jsonpath={.items[?(@.involvedObject.name=="${name}")].message}`))
      .toContain('Pipeline step "step-0": greeted Ada');
    await expect
      .poll(() => get("xgreeting", name, "-o", "jsonpath={.status.conditions[?(@.type=='Synced')].message}"))
      .toContain("set metadata.namespace");
  });

  test("but no package that the Composition names, without --enable-function-runtimes", async () => {
    await apply(composition(`{ package: "${PACKAGE}" }`));
    await expect.poll(() => apply(greeting("xr-package")).then(() => "", String)).toBe("");
    await expect
      .poll(() => get("xgreeting", "xr-package", "-o", "jsonpath={.status.conditions[?(@.type=='Synced')].message}"))
      .toContain("--enable-function-runtimes");
  });

  test("whose conditions and results a claim shows, and which a steady XR does not call", async () => {
    await apply(composition("{ name: function-own }"));
    const claim = `
apiVersion: example.org/v1
kind: Greeting
metadata: { name: shop, namespace: default }
spec: { name: Ada, compositionRef: { name: greetings } }
`;
    await expect.poll(() => apply(claim).then(() => "", String)).toBe("");
    await server.kubectl(["wait", "greeting/shop", "--for=condition=Ready", "--timeout=60s"]);
    await server.kubectl(["wait", "greeting/shop", "--for=condition=Greeted", "--timeout=60s"]);
    const shown = await get("greeting", "shop", "-o", "jsonpath={.status}");
    expect(JSON.parse(shown)).toMatchObject({ greeting: "Hi" });
    expect(shown).not.toContain("Internal");
    await expect
      .poll(() =>
        get("events", "-n", "default", "-o", "jsonpath={.items[?(@.involvedObject.kind=='Greeting')].message}"),
      )
      .toContain("for all");
    const events = await get("events", "-A", "-o", "jsonpath={.items[?(@.involvedObject.kind=='Greeting')].message}");
    expect(events).not.toContain("for operators");
    const hits = async (): Promise<number> => {
      const metrics = await (await fetch(`${controller.http}/metrics`)).text();
      return Number(/source="cache"\} (\d+)/.exec(metrics)?.[1] ?? 0);
    };
    // The XRs of the other tests follow the Composition. Once they are steady too, only the cache answers.
    const callsDuringHits = async (): Promise<number> => {
      const [calls, before] = [own.calls, await hits()];
      await expect.poll(hits).toBeGreaterThan(before + 8);
      return own.calls - calls;
    };
    await expect.poll(callsDuringHits).toBe(0);
  });

  test("which a change of what it requires calls again, long before the next poll", async () => {
    await controller[Symbol.asyncDispose]();
    controller = await start("10m");
    requires = { size: { apiVersion: "v1", kind: "ConfigMap", namespace: "default", matchName: "size" } };
    await apply(composition("{ name: function-own }"));
    await apply(greeting("watching"));
    const status = (field: string) => get("xgreeting", "watching", "-o", `jsonpath={.status.${field}}`);
    await expect.poll(() => status("size")).toBe("none");
    const metadata = "metadata: { name: size, namespace: default }";
    for (const size of ["small", "large"]) {
      await apply(`apiVersion: v1\nkind: ConfigMap\n${metadata}\ndata: { size: ${size} }\n`);
      await expect.poll(() => status("size")).toBe(size);
    }
    await server.kubectl(["delete", "configmap", "size"]);
    await expect.poll(() => status("size")).toBe("none");
  });

  test("that is unknown is reported with the way out", async () => {
    await apply(composition("{ name: function-missing }"));
    await apply(greeting("unknown"));
    await expect
      .poll(() => get("xgreeting", "unknown", "-o", "jsonpath={.status.conditions[?(@.type=='Synced')]}"))
      .toContain("FunctionNotFound");
  });
});

function sizeOf(configMap: JsonObject | undefined): string {
  const data = configMap?.["data"];
  return isObject(data) && typeof data["size"] === "string" ? data["size"] : "none";
}

/** The certificates of a function as Crossplane mounts them. */
function certificatesFolder(workspace: Workspace, { ca, cert, key }: Certificates): string {
  const folder = workspace.path("certificates");
  mkdirSync(folder);
  for (const [from, to] of [
    [ca, "ca.crt"],
    [cert, "tls.crt"],
    [key, "tls.key"],
  ] as const)
    copyFileSync(from, join(folder, to));
  return folder;
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  listener.close();
  await once(listener, "close");
  if (typeof address !== "object" || address === null) throw new Error("it has no port");
  return address.port;
}
