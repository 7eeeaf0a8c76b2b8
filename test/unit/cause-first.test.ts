import type { CompositeOptions } from "@xfn/controller";
import type { JsonObject } from "@xfn/json";
import { ApiError, type ApiErrorCode, type LiveObject } from "@xfn/kubernetes";
import { type InProcessFunction, inProcessRunner } from "@xfn/pipeline/in-process";
import { expect, test } from "vitest";
import { get, named, WIDGET, type World, widget, world, xr } from "../harness/composite-memory.ts";

// Lists of events and conditions show some 200 characters, and only the first line. They must have the cause, however
// long the names of objects, entries, steps and images are.

const SHOWN = 200;
/** The longest name of a label's value, as most names are at most. */
const LONG = "n".repeat(63);
const IMAGE = `registry.platform.example.org/functions/composition/network@sha256:${"0".repeat(64)}`;

interface Failure {
  readonly spec: JsonObject;
  readonly cause: RegExp;
  readonly run?: InProcessFunction;
  readonly how?: Partial<CompositeOptions>;
  readonly before?: (w: World) => void;
  readonly objects?: readonly LiveObject[];
}

const template = (base: JsonObject = {}, rest: JsonObject = {}): JsonObject => ({
  resources: [{ name: LONG, base: { ...WIDGET, metadata: { name: LONG }, ...base }, ...rest }],
});

const failing = (output: string | Error): Pick<Failure, "spec" | "run"> => ({
  spec: { functions: [{ name: LONG, type: "Container", container: { image: IMAGE } }] },
  run: () => {
    if (output instanceof Error) throw output;
    return new TextEncoder().encode(output);
  },
});

const HEADER = '"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO"';

/** The API server refuses the composed resource, in its own words. */
const refused =
  (code: ApiErrorCode, text: string, causes: { field: string; message: string }[] = []) =>
  (w: World) => {
    w.client.beforeWrite = ({ object }) => {
      const server = `apply Widget ${LONG}: widgets.things.example.org "${LONG}" is ${text}`;
      if (object.startsWith("Widget/")) throw new ApiError(code, server, { causes });
    };
  };

const OTHER = { apiVersion: "v1", kind: "Other", name: LONG, uid: "other", controller: true };

const FAILURES: readonly [string, Failure][] = [
  ["a wrong output", { ...failing("Starting up"), cause: /expected a FunctionIO object/ }],
  [
    "a wrong field",
    { ...failing(`{${HEADER},"results":[{"severity":"Fatal"}]}`), cause: /results\[0\]\.message: is missing/ },
  ],
  [
    "a resource that cannot exist",
    {
      ...failing(`{${HEADER},"desired":{"resources":[{"name":"a","resource":{"kind":"A"}}]}}`),
      cause: /"a": has no apiVersion/,
    },
  ],
  [
    "a fatal result",
    { ...failing(`{${HEADER},"results":[{"severity":"Fatal","message":"no such region"}]}`), cause: /no such region/ },
  ],
  ["a function that fails", { ...failing(new Error("it exited with code 3")), cause: /it exited with code 3/ }],
  ["disabled functions", { spec: failing("").spec, cause: /has functions, which are disabled/ }],
  [
    "a disabled package",
    {
      spec: { mode: "Pipeline", pipeline: [{ step: LONG, functionRef: { package: IMAGE } }] },
      how: { runner: { run: async () => new Uint8Array() } },
      cause: /packages in Compositions are disabled/,
    },
  ],
  ["a kind that is not served", { spec: template({ kind: "Gadget" }), cause: /Gadget/ }],
  ["a composed Secret", { spec: template({ apiVersion: "v1", kind: "Secret" }), cause: /may not compose Secrets/ }],
  [
    "an object of another owner",
    {
      spec: { resources: [named(LONG, LONG)] },
      objects: [widget(LONG, LONG, { ownerReferences: [OTHER], uid: "w" })],
      cause: /belongs to Other/,
    },
  ],
  [
    "a field that the server refuses",
    {
      spec: template(),
      before: refused("Invalid", "invalid: spec.size: too large", [{ field: "spec.size", message: "too large" }]),
      cause: /spec\.size: too large/,
    },
  ],
  [
    "a missing right",
    {
      spec: template(),
      before: refused(
        "Forbidden",
        'forbidden: User "xfn" cannot patch resource "widgets" in API group "things.example.org"',
      ),
      cause: /User "xfn" cannot patch resource "widgets"/,
    },
  ],
  [
    "a key that a map lacks",
    {
      spec: template(
        {},
        {
          patches: [
            {
              type: "FromCompositeFieldPath",
              fromFieldPath: "spec.region",
              toFieldPath: "spec.region",
              transforms: [{ type: "map", map: { eu: "x" } }],
            },
          ],
        },
      ),
      cause: /"us-west-9"/,
    },
  ],
  [
    "an unready resource",
    {
      spec: { resources: [named(LONG, LONG)] },
      objects: [
        {
          ...widget(LONG, LONG),
          status: {
            conditions: [{ type: "Synced", status: "False", reason: "ReconcileError", message: "no quota left" }],
          },
        },
      ],
      cause: /no quota left/,
    },
  ],
];

test.each(FAILURES)(
  "%s: the cause is in what lists show",
  async (_, { spec, cause, run, how = {}, before, objects = [] }) => {
    const w = world(
      [xr({ region: "us-west-9", resourceRefs: objects.map(() => ({ ...WIDGET, name: LONG })) }), ...objects],
      run === undefined ? how : { runner: inProcessRunner({ [IMAGE]: run }) },
    );
    w.composeSpec(spec);
    before?.(w);
    await w.reconcile().catch(() => undefined);
    const status = get(w.client, "XDatabase", "xr")?.["status"] as { conditions?: { message?: string }[] } | undefined;
    const messages = (status?.conditions ?? []).map(({ message = "" }) => message);
    const reported = [...w.events, ...messages].filter((message) => cause.test(message));
    expect(reported, JSON.stringify([w.events, messages])).not.toEqual([]);
    for (const message of reported) expect(message.split("\n")[0]?.slice(0, SHOWN)).toMatch(cause);
  },
);
