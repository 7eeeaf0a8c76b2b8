import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type FunctionServer,
  serveTestFunction,
  type TestResponse,
} from "../../packages/function-grpc/testing/function-server.ts";
import { MemoryGroup } from "../../packages/runner/testing/memory-group.ts";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { type RunningController, startController } from "../harness/controller-program.ts";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { buildOutputImage, HOSTILE_VALUES, outputWith } from "../harness/hostile-content.ts";
import { needs } from "../harness/needs.ts";
import { type RunningServer, startRunnerServer } from "../harness/runner-server.ts";
import { Workspace } from "../harness/workspace.ts";

// `xfn-controller start` in 512 MiB, as in deploy/, while functions return what takes much memory.

const BYTES = 512 * 1024 * 1024;

const DEFINITION = definitionYaml("XHostile");

const composition = (name: string, spec: string): string => `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: ${name} }
spec:
  compositeTypeRef: { apiVersion: example.org/v1, kind: XHostile }
  ${spec}
`;

const composite = (name: string): string => `
apiVersion: example.org/v1
kind: XHostile
metadata: { name: ${name} }
spec: { compositionRef: { name: ${name} } }
`;

describe("a controller in 512 MiB", needs("api-server", "crun", "busybox", "cgroup-limits"), () => {
  let workspace: Workspace;
  let runner: RunningServer;
  let server: TestApiServer;
  let fn: FunctionServer;
  let response: TestResponse = {};
  let group: MemoryGroup;
  let controller: RunningController;

  beforeAll(async () => {
    workspace = await Workspace.create();
    const socket = `unix:${workspace.path("runner.sock")}`;
    runner = await startRunnerServer(workspace, ["--address", socket]);
    server = await startApiServer();
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    fn = await serveTestFunction(() => response);
    group = MemoryGroup.create(BYTES);
    controller = await startController(server.admin.kubeconfig, {
      args: ["--enable-composition-functions", "--runner", socket, "--function", `hostile=http://${fn.address}`],
      wrap: (command) => group.command(command),
    });
    await apply(DEFINITION);
    await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
  });
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await group?.[Symbol.asyncDispose]();
    await server?.stop();
    fn?.stop();
    await runner?.[Symbol.asyncDispose]();
    await workspace?.[Symbol.asyncDispose]();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });
  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl(["get", ...args])).trim();
  const hasEnded = async (): Promise<boolean> =>
    await Promise.race([controller.ended.then(() => true), sleep(0).then(() => false)]);

  /** Makes an XR whose function returns what a test says, and waits until the controller has told how that went. */
  async function outcomeOf(name: string, spec: string): Promise<string> {
    await apply(composition(name, spec));
    await apply(composite(name));
    const synced =
      "jsonpath={.status.conditions[?(@.type=='Synced')].message}{.status.conditions[?(@.type=='Synced')].status}";
    for (;;) {
      if (await hasEnded()) throw new Error(`the controller ended: ${JSON.stringify(controller.log().slice(-5))}`);
      const outcome = await get("xhostile", name, "-o", synced);
      // The controller may see an XR before the revision of its Composition, and then reports that.
      if (outcome !== "" && !outcome.includes("has no revision yet")) {
        await server.kubectl(["delete", "xhostile", name, "--timeout=60s"]);
        return outcome;
      }
      await sleep(200);
    }
  }

  const containers = (image: string): string =>
    `functions: [{ name: a, type: Container, container: { image: ${image}, imagePullPolicy: Never, timeout: 60s } }]`;
  const packages = `mode: Pipeline
  pipeline: [{ step: a, functionRef: { name: hostile } }]`;

  const values = Object.entries(HOSTILE_VALUES).map(([title, value], index) => ({ title, value, index }));

  test.each(values)("outlives an output of a function with $title", { timeout: 300_000 }, async ({ value, index }) => {
    const image = `test/output-${index}`;
    await buildOutputImage(workspace, image, outputWith(value()));
    expect(await outcomeOf(`output-${index}`, containers(image))).toMatch(/False$/);
    expect(group.kills()).toBe(0);
  });

  test.each(values)("outlives a response of a package with $title", { timeout: 300_000 }, async ({ value, index }) => {
    const data = JSON.parse(value()) as JsonObject;
    const resource = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default" }, data };
    response = { resources: { r: { resource: Object.freeze(resource), ready: true } } };
    expect(await outcomeOf(`package-${index}`, packages)).toMatch(/False$/);
    response = { composite: { resource: Object.freeze({ status: { data } }) } };
    expect(await outcomeOf(`status-${index}`, packages)).not.toBe("");
    expect(group.kills()).toBe(0);
  });

  test("composes what is well formed after all of that", async () => {
    response = { composite: { ready: true, resource: { status: { well: "formed" } } } };
    expect(await outcomeOf("good", packages)).toMatch(/True$/);
    expect(group.kills()).toBe(0);
  });
});
