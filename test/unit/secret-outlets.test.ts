import type { CompositeOptions } from "@xfn/controller";
import { type FunctionIO, parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import { ApiError, type LiveObject } from "@xfn/kubernetes";
import { inProcessRunner } from "@xfn/pipeline/in-process";
import type { FunctionRunner } from "@xfn/runner-contract";
import { describe, expect, test } from "vitest";
import { get, owner, secret, WIDGET, type World, widget, world, xr } from "../harness/composite-memory.ts";

// A function, a webhook and a server can quote a value of a Secret that the run was given.

const TOKEN = "s3cr3t-t0ken-of-a-step";
const BASIC = Buffer.from(`user:${TOKEN}`).toString("base64");
const PIN = "4711";

const credentials: LiveObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "team", name: "token", uid: "token", resourceVersion: "1" },
  data: { token: Buffer.from(TOKEN).toString("base64"), pin: Buffer.from(PIN).toString("base64") },
};

/** An XR whose only step is a webhook with credentials. @param answer changes the FunctionIO that it gets */
function webhookWorld(
  answer: (token: string) => Pick<FunctionIO, "desired"> | Pick<FunctionIO, "results">,
  how: Partial<CompositeOptions> = {},
): World {
  const w = world([xr(), credentials], {
    ...how,
    runner: inProcessRunner({}),
    credentialsSecretNamespaces: ["team"],
    webhooks: {
      maxOutputBytes: 1_000_000,
      call: async (_, input, { token = "" }) =>
        new TextEncoder().encode(printFunctionIO({ ...parseFunctionIO(input), ...answer(token) } as FunctionIO)),
    },
  });
  w.composeSpec({
    mode: "Pipeline",
    pipeline: [
      {
        step: "call",
        webhook: {
          url: "https://functions.example.org",
          credentials: { secretRef: { namespace: "team", name: "token" } },
        },
      },
    ],
  });
  return w;
}

/** All that a reconcile shows to users: the XR, events, and the error that is logged. */
async function shown(w: World): Promise<string> {
  const error = await w.reconcile().then(
    () => "",
    (caught: unknown) => (caught instanceof Error ? caught.message : String(caught)),
  );
  const status = get(w.client, "XDatabase", "xr")?.["status"] as JsonObject | undefined;
  return JSON.stringify([status?.["conditions"], w.events, error]);
}

function expectMasked(text: string): void {
  expect(text).toContain("(hidden)");
  expect(text).not.toContain(TOKEN);
  expect(text).not.toContain(BASIC);
  expect(text).not.toContain(PIN);
}

describe("a credential of a step is masked", () => {
  test("in the event of a result, in each form", async () => {
    const w = webhookWorld((token) => ({
      results: [
        { severity: "Warning", message: `login with ${token} failed` },
        { severity: "Normal", message: `sent Basic ${Buffer.from(`user:${token}`).toString("base64")} and ${PIN}` },
      ],
    }));
    expectMasked(await shown(w));
    expect(w.events).toContain('Pipeline step "call": login with (hidden) failed');
  });

  test("in a fatal result: the condition, the event and the log", async () => {
    const w = webhookWorld((token) => ({ results: [{ severity: "Fatal", message: `cannot use ${token}` }] }));
    const text = await shown(w);
    expectMasked(text);
    expect(text.match(/cannot use \(hidden\)/g)).toHaveLength(3);
  });

  test("in a condition that the function sets", async () => {
    const condition = (type: string, reason: string, message: string): JsonObject => ({
      type,
      status: "False",
      reason,
      message,
    });
    const w = webhookWorld((token) => ({
      desired: {
        composite: {
          resource: {
            apiVersion: "example.org/v1",
            kind: "XDatabase",
            status: {
              conditions: [condition("Login", "Refused", `no user has ${token}`), condition(token, token, "x")],
            },
          },
        },
      },
    }));
    const text = await shown(w);
    expectMasked(text);
    expect(text).toContain("no user has (hidden)");
    // The condition without words for a type and a reason is left out, which one event says.
    expect(w.events.filter((one) => one.includes("a condition that a function sets is left out"))).toHaveLength(1);
  });

  test("in the error of a step", async () => {
    const w = webhookWorld((token) => {
      throw new TypeError(`the server answered 401: ${token}`);
    });
    const text = await shown(w);
    expect(text).toContain("call");
    expect(text).not.toContain(TOKEN);
  });

  test("in the server's message about a refused resource", async () => {
    const w = webhookWorld((token) => ({
      desired: { resources: [{ name: "a", resource: { ...WIDGET, spec: { copy: token } } }] },
    }));
    w.client.beforeWrite = ({ object, body }) => {
      if (!object.startsWith("Widget/")) return;
      const { copy } = body?.["spec"] as JsonObject;
      throw new ApiError("Invalid", `spec.copy: Invalid value: "${String(copy)}"`, { status: 422 });
    };
    const text = await shown(w);
    expectMasked(text);
    expect(text).toContain('spec.copy: Invalid value: \\"(hidden)');
  });
});

test("the log has every planned write with its reason, and no value of a Secret", async () => {
  const lines: string[] = [];
  const ignored = (): void => undefined;
  const debug = (fields: object, message: string): void => void lines.push(`${message}: ${JSON.stringify(fields)}`);
  const resources = (token: string): Pick<FunctionIO, "desired"> => ({
    desired: { resources: [{ name: `entry-${token}`, resource: { ...WIDGET, metadata: { name: "w" } } }] },
  });
  const w = webhookWorld(resources, { log: { debug, info: ignored, warn: ignored, error: ignored } });
  await w.reconcile();
  expect(lines.map((line) => line.replace(/"kind":"XDatabase","key":"xr",/, ""))).toEqual([
    'planned write: {"verb":"apply","object":"XDatabase xr","as":"xr","why":"the XR records what it composes"}',
    'planned write: {"verb":"apply","object":"Widget w","as":"composition","why":"entry-(hidden) does not exist"}',
    'planned write: {"verb":"apply","object":"XDatabase xr","part":"status","as":"xr","why":"the status or a condition differs"}',
  ]);
});

test("a pull secret that a registry quotes is masked", async () => {
  const auths = { "registry.example.org": { username: "puller", password: TOKEN } };
  const pull: LiveObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "xfn-system", name: "pull", uid: "pull", resourceVersion: "1" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") },
  };
  const run: FunctionRunner["run"] = (_, __, { auth } = {}) =>
    Promise.reject(new TypeError(`the registry answered 401: ${auth?.password} is wrong`));
  const w = world([xr(), pull], { runner: { run }, pullSecretNamespaces: ["xfn-system"] });
  const container = {
    image: "registry.example.org/f:v1",
    imagePullSecrets: [{ name: "pull", namespace: "xfn-system" }],
  };
  w.composeSpec({ mode: "Pipeline", pipeline: [{ step: "only", container }] });
  const text = await shown(w);
  expect(text).toContain("the registry answered 401: (hidden) is wrong");
  expect(text).not.toContain(TOKEN);
});

test("a value of the connection secret of a composed resource is masked in events", async () => {
  const its = secret("team", "its", [{ ...owner("uid-a"), kind: "Widget", name: "a" }]);
  const composed = { ...widget("a", "a"), spec: { writeConnectionSecretToRef: { namespace: "team", name: "its" } } };
  const runner = inProcessRunner({
    image: (input) => {
      const io = parseFunctionIO(input);
      const [detail] = io.observed.resources?.[0]?.connectionDetails ?? [];
      const message = `connects as ${detail?.value}`;
      return new TextEncoder().encode(printFunctionIO({ ...io, results: [{ severity: "Normal", message }] }));
    },
  });
  const objects = [
    xr({ resourceRefs: [{ ...WIDGET, name: "a" }] }),
    composed,
    { ...its, data: { user: Buffer.from(TOKEN).toString("base64") } },
  ];
  const w = world(objects, { runner });
  w.composeSpec({ mode: "Pipeline", pipeline: [{ step: "only", container: { image: "image" } }] });
  expectMasked(await shown(w));
  expect(w.events).toContain('Pipeline step "only": connects as (hidden)');
});

test("a run has a bounded number of events, the last of which says how many results have none", async () => {
  let run = 0;
  const w = webhookWorld(() => {
    run += 1;
    const message = (index: number): string => `result ${index} of run ${run}`;
    return { results: Array.from({ length: 9_000 }, (_, index) => ({ severity: "Normal", message: message(index) })) };
  });
  for (let count = 0; count < 2; count++) {
    w.events.length = 0;
    await w.reconcile();
    const results = w.events.filter((one) => one.includes(": result "));
    expect(results).toHaveLength(20);
    expect(results[0]).toContain(`result 0 of run ${run}`);
    // The second run has the same number of results, and repeats no event.
    if (count === 0) expect(w.events.join("\n")).toContain("returned 8980 more results, which have no event");
  }
});
