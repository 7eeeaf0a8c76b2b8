import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApiServer, type TestApiServer } from "../harness/api-server.ts";
import { startController } from "../harness/controller-program.ts";
import { definitionYaml } from "../harness/definition-yaml.ts";
import { addHostBases } from "../harness/host-bases.ts";
import { needs } from "../harness/needs.ts";
import { PATIENCE } from "../harness/patience.ts";
import { startRunnerServer } from "../harness/runner-server.ts";
import { type CollectedSpan, startTraceCollector, type TraceCollector } from "../harness/trace-collector.ts";
import { Workspace } from "../harness/workspace.ts";

// The spans of a controller and its runner at a real receiver.

const PASSWORD = "correct-horse-battery";

const DEFINITION = definitionYaml("XCache", {
  group: "cache.example.org",
  version: "v1alpha1",
  more: "connectionSecretKeys: [password]",
});

const COMPOSITION = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: { name: cache }
spec:
  compositeTypeRef: { apiVersion: cache.example.org/v1alpha1, kind: XCache }
  functions:
    - name: password
      type: Container
      container: { image: test/cache, imagePullPolicy: Never, timeout: 5m }
`;

const CACHE = `
apiVersion: cache.example.org/v1alpha1
kind: XCache
metadata: { name: one }
spec: { writeConnectionSecretToRef: { namespace: crossplane-system, name: one } }
`;

const FUNCTION = `#!/bin/sh
cat >/dev/null
cat <<END
{"apiVersion": "apiextensions.crossplane.io/v1alpha1", "kind": "FunctionIO",
 "desired": {"composite": {"resource": {"apiVersion": "cache.example.org/v1alpha1", "kind": "XCache"},
  "connectionDetails": [{"name": "password", "value": "${PASSWORD}"}]},
 "resources": [{"name": "settings", "readinessChecks": [{"type": "None"}], "resource":
  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "crossplane-system"}}}]}}
END
`;

describe("traces of a controller and its runner", needs("api-server", "crun"), () => {
  let workspace: Workspace;
  let server: TestApiServer;
  let collector: TraceCollector;

  beforeAll(async () => {
    workspace = await Workspace.create();
    await addHostBases(workspace, "sh");
    await workspace.write("function/function", FUNCTION, { mode: 0o755 });
    const built = await workspace.xfn(["build", workspace.path("function"), "-t", "test/cache"]);
    if (built.code !== 0) throw new Error(`cannot build the function: ${built.stderr}`);
    server = await startApiServer();
    await server.kubectl(["create", "namespace", "crossplane-system"]);
    collector = await startTraceCollector();
  });
  afterAll(async () => {
    await collector?.[Symbol.asyncDispose]();
    await server?.stop();
    await workspace?.[Symbol.asyncDispose]();
  });

  const apply = (yaml: string): Promise<string> => server.kubectl(["apply", "-f", "-"], { input: yaml });

  test("one trace has the reconcile, its step, the runner's call with the container, and the writes", async () => {
    const socket = `unix:${workspace.path("runner.sock")}`;
    const traces = ["--otel-endpoint", collector.url];
    {
      await using _runner = await startRunnerServer(workspace, ["--address", socket, ...traces]);
      await using _controller = await startController(server.admin.kubeconfig, {
        args: ["--enable-composition-functions", "--runner", socket, ...traces],
      });
      await apply(DEFINITION);
      await server.kubectl(["wait", "xrd", "--all", "--for=condition=Established", "--timeout=60s"]);
      await apply(COMPOSITION);
      await expect.poll(() => apply(CACHE).then(() => "", String), PATIENCE).toBe("");
      await server.kubectl(["wait", "xcache", "one", "--for=condition=Ready", "--timeout=60s"]);
    }
    // Both programs have sent their spans before they ended.
    const spans = collector.spans();
    const below = (parent: CollectedSpan | undefined): CollectedSpan[] =>
      spans.filter(({ traceId, parentSpanId }) => traceId === parent?.traceId && parentSpanId === parent.spanId);
    const step = spans.find(({ name }) => name === "step");
    const reconcile = spans.find(({ spanId }) => spanId === step?.parentSpanId);
    expect(reconcile).toMatchObject({
      service: "xfn-controller",
      name: "reconcile",
      traceId: step?.traceId,
      attributes: { "xfn.kind": "XCache.cache.example.org", "xfn.key": "one" },
    });
    expect(step?.attributes).toEqual({ "xfn.step": "password", "xfn.image": "test/cache" });
    const [call] = below(step);
    expect(call).toMatchObject({ service: "xfn-runner", name: "RunFunction", attributes: { "xfn.code": "OK" } });
    expect(below(call).map(({ name }) => name)).toEqual(expect.arrayContaining(["start", "run"]));
    const writes = below(reconcile).filter(({ name }) => name !== "step");
    expect(writes.map(({ attributes }) => attributes["xfn.resource"])).toEqual(
      expect.arrayContaining(["configmaps", "secrets", "xcaches.cache.example.org"]),
    );
    const sent = collector.bodies.join("\n");
    expect(sent).not.toContain(PASSWORD);
    expect(sent).not.toContain(Buffer.from(PASSWORD).toString("base64"));
  });
});
