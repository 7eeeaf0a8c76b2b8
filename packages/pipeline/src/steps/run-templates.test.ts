import { type FunctionIO, type JsonValue, parseFunctionIO } from "@xfn/functionio";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, prints, xr } from "../../test/fixtures.ts";
import { composedName } from "../compose/composed-name.ts";
import { type InProcessFunction, inProcessRunner } from "../in-process.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { runPipeline } from "./run-pipeline.ts";

type Json = Record<string, JsonValue>;

const base = { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" } };
const copySize = { type: "FromCompositeFieldPath", fromFieldPath: "spec.size", toFieldPath: "spec.size" };
const required = { policy: { fromFieldPath: "Required" } };
const broken = { ...copySize, fromFieldPath: "spec.nope", ...required };

/** A template; its base is a bucket. */
function template(name: string, patches: Json[] = [], rest: Json = {}): Json {
  return { name, base, patches, ...rest };
}

/** A run of templates and then of functions as steps `step-1`, ... with the images `image-1`, ... */
function runOf(templates: Json[], functions: InProcessFunction[] = [], spec: Json = {}): PipelineInput {
  const images = functions.map((run, index): [string, InProcessFunction] => [`image-${index + 1}`, run]);
  const steps = images.map(([image], index) => ({ name: `step-${index + 1}`, container: { image } }));
  return {
    composite: xr(),
    composition: compositionOf(steps, { resources: templates, ...spec }),
    runner: inProcessRunner(Object.fromEntries(images)),
  };
}

function observedBucket(name: string, rest: Json = {}, details: Record<string, string> = {}) {
  return {
    name,
    resource: bucket({ metadata: { name: `store-${name}` }, ...rest }),
    connectionDetails: Object.entries(details).map(([key, value]) => ({ name: key, value })),
  };
}

const isReadyNow = { status: { conditions: [{ type: "Ready", status: "True" }], url: "http://x" } };

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

async function failure(run: Promise<unknown>): Promise<PipelineError> {
  const error = await run.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error instanceof PipelineError) return error;
  throw new Error("expected a PipelineError", { cause: error });
}

describe("templates without functions", () => {
  test("compose what they render, with the identity of the XR", async () => {
    const { composed, results, unready } = await runPipeline(runOf([template("a", [copySize])]));
    expect(plain(composed.map((one) => one.resource))).toEqual([
      {
        ...base,
        spec: { region: "eu", size: 3 },
        metadata: {
          generateName: "my-store-",
          labels: { "crossplane.io/composite": "my-store" },
          annotations: { "crossplane.io/composition-resource-name": "a" },
          ownerReferences: [
            {
              apiVersion: "example.org/v1alpha1",
              kind: "XStore",
              name: "my-store",
              uid: "",
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
      },
    ]);
    expect(results).toEqual([]);
    expect(unready).toEqual(["a"]);
  });

  test("need no working runner", async () => {
    const runner = { run: () => Promise.reject(new Error("no runner here")) };
    const { composed } = await runPipeline({ ...runOf([template("a")]), runner });
    expect(composed).toHaveLength(1);
  });

  test("are complete: resources that no template names are deleted", async () => {
    const observed = [observedBucket("a"), observedBucket("old"), observedBucket("older")];
    const { deleted } = await runPipeline({ ...runOf([template("a")]), observed });
    expect(deleted).toEqual(["old", "older"]);
  });

  test("see the XR's composite label, which defaults to its own name", async () => {
    const label = { ...copySize, fromFieldPath: "metadata.labels[crossplane.io/composite]", toFieldPath: "spec.of" };
    const of = async (metadata: Json): Promise<unknown> => {
      const { composed } = await runPipeline({ ...runOf([template("a", [label])]), composite: xr(metadata) });
      return plain([composed[0]?.resource["spec"], composed[0]?.resource.metadata?.generateName]);
    };
    expect(await of({})).toEqual([{ region: "eu", of: "my-store" }, "my-store-"]);
    expect(await of({ labels: { "crossplane.io/composite": "root" } })).toEqual([
      { region: "eu", of: "root" },
      "root-",
    ]);
  });

  test("name new resources by the UID of the XR, the same in every run", async () => {
    const names = async (): Promise<unknown> => {
      const run = runOf([template("a"), template("b", [{ ...copySize, toFieldPath: "metadata.name" }])]);
      const composite = xr({ uid: "u-1" }, { spec: { size: "given" } });
      return (await runPipeline({ ...run, composite })).composed.map((one) => one.resource.metadata?.name);
    };
    expect(await names()).toEqual([composedName("my-store-", "u-1", "a"), "given"]);
    expect(await names()).toEqual(await names());
  });

  test("keep the name of an existing object", async () => {
    const observed = [observedBucket("a")];
    const run = { ...runOf([template("a")]), composite: xr({ uid: "u-1" }), observed };
    const [one] = (await runPipeline(run)).composed;
    expect(one?.resource.metadata?.name).toBe("store-a");
    expect(one?.observed).toBe(observed[0]?.resource);
  });

  test("patch the XR from composed resources that exist; later templates see it", async () => {
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.url", toFieldPath: "status.url" };
    const down = { ...copySize, fromFieldPath: "status.url", toFieldPath: "spec.url" };
    const run = { ...runOf([template("a", [up]), template("b", [down])]), observed: [observedBucket("a", isReadyNow)] };
    const { desired, composed } = await runPipeline(run);
    expect(plain(desired.composite)).toEqual({
      resource: { apiVersion: "example.org/v1alpha1", kind: "XStore", status: { url: "http://x" } },
    });
    expect(plain(composed[1]?.resource["spec"])).toEqual({ region: "eu", url: "http://x" });
  });

  test("read and write the environment", async () => {
    const down = { ...copySize, type: "FromEnvironmentFieldPath", fromFieldPath: "region", toFieldPath: "spec.region" };
    const { composed } = await runPipeline({ ...runOf([template("a", [down])]), environment: { region: "us" } });
    expect(plain(composed[0]?.resource["spec"])).toEqual({ region: "us" });
    const without = await runPipeline(runOf([template("a", [down])]));
    expect(plain(without.composed[0]?.resource["spec"])).toEqual({ region: "eu" });
  });

  test("do not modify their input", async () => {
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.url", toFieldPath: "status.url" };
    const env = { ...copySize, type: "ToEnvironmentFieldPath", fromFieldPath: "spec.region", toFieldPath: "region" };
    const run = {
      ...runOf([template("a", [up, copySize, env])]),
      composite: xr({ uid: "u-1" }),
      observed: [observedBucket("a", isReadyNow)],
      environment: { region: "us" },
    };
    const before = structuredClone(plain(run));
    const first = await runPipeline(run);
    expect(plain(run)).toEqual(before);
    expect(plain(await runPipeline(run))).toEqual(plain(first));
  });
});

describe("a template that fails", () => {
  const failed = {
    severity: "Warning",
    message: expect.stringMatching(/^composed resource "a": cannot be rendered: spec\.resources\[0]\.patches\[0]: /),
  };

  test("is also one whose patch makes metadata another type than an object; null is replaced", async () => {
    const text = { type: "string", string: { type: "Format", fmt: "%v" } };
    const never = { type: "match", match: { patterns: [{ type: "literal", literal: "never", result: 1 }] } };
    const [spoil, empty] = [[text], [text, never]].map((transforms) => ({
      ...copySize,
      toFieldPath: "metadata",
      transforms,
    }));
    const run = runOf([template("a", [spoil as Json]), template("b", [empty as Json])]);
    const { composed, results } = await runPipeline({ ...run, composite: xr({ uid: "u-1" }) });
    expect(composed.map(({ name, resource }) => [name, resource.metadata?.name !== undefined])).toEqual([["b", true]]);
    expect(results).toEqual([
      expect.objectContaining({ message: expect.stringContaining("metadata is not an object") }),
    ]);
  });

  test("is a warning that names it and its patch; others are composed, and the XR is not ready", async () => {
    const warnings: unknown[] = [];
    const run = runOf([template("a", [broken]), template("b", [], { readinessChecks: [{ type: "None" }] })]);
    const result = await runPipeline({ ...run, onWarning: (warning) => warnings.push(warning) });
    expect(result.results).toEqual([failed]);
    expect(warnings).toEqual([failed]);
    expect(result.composed.map((one) => one.name)).toEqual(["b"]);
    expect(result.unready).toEqual(["a"]);
  });

  test("deletes no existing object, whatever the rules for undesired resources", async () => {
    const observed = [observedBucket("a", isReadyNow), observedBucket("old")];
    const without = await runPipeline({ ...runOf([template("a", [broken])]), observed });
    expect(without).toMatchObject({ deleted: ["old"], unready: ["a"], composed: [] });
    const functions = runOf([template("a", [broken])], [changes(() => undefined)], { undesiredResources: "Delete" });
    expect(await runPipeline({ ...functions, observed })).toMatchObject({ deleted: ["old"], unready: ["a"] });
  });

  test("keeps published connection details", async () => {
    const rest = { connectionDetails: [{ fromConnectionSecretKey: "user" }] };
    const observed = [observedBucket("a", isReadyNow, { user: "admin" })];
    const { connectionDetails } = await runPipeline({ ...runOf([template("a", [broken], rest)]), observed });
    expect([...connectionDetails]).toEqual([["user", "admin"]]);
  });

  test("can be repaired by a function, which does not see the failure", async () => {
    let seen: FunctionIO | undefined;
    const repair: InProcessFunction = (input, options) => {
      seen = parseFunctionIO(input);
      return desires({ a: bucket() })(input, options);
    };
    const run = runOf([template("a", [broken], { readinessChecks: [{ type: "None" }] }), template("b")], [repair]);
    const { composed, unready, results } = await runPipeline(run);
    expect(seen?.desired?.resources?.map(({ name }) => name)).toEqual(["b"]);
    expect(seen?.results).toEqual([]);
    expect(composed.map(({ name, ready }) => [name, ready])).toEqual([
      ["a", true],
      ["b", false],
    ]);
    expect(unready).toEqual(["b"]);
    expect(results).toEqual([failed]);
  });

  test("can be replaced by a deletion in a function", async () => {
    const run = runOf([template("a", [broken])], [desires({ a: null })]);
    const result = await runPipeline({ ...run, observed: [observedBucket("a")] });
    expect(result).toMatchObject({ deleted: ["a"], unready: [], composed: [] });
  });

  test("is named by the field that its author wrote", async () => {
    const { composition, ...run } = runOf([]);
    const to = compositionOf([], { to: [{ base, patches: [broken] }] });
    const { results } = await runPipeline({ ...run, composition: { ...composition, spec: to.spec } });
    expect(results[0]?.message).toContain('"template-0": cannot be rendered: spec.to[0].patches[0]: ');
  });

  test("can be one with an impossible result: an object of another group than the existing one", async () => {
    const observed = [{ name: "a", resource: { ...bucket({ metadata: { name: "x" } }), apiVersion: "other/v1" } }];
    const { results, composed, deleted } = await runPipeline({ ...runOf([template("a")]), observed });
    expect(results).toEqual([
      { severity: "Warning", message: expect.stringContaining("spec.resources[0]: is a Bucket") },
    ]);
    expect({ composed, deleted }).toEqual({ composed: [], deleted: [] });
  });
});

describe("a patch to the XR that fails", () => {
  const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.nope", toFieldPath: "status.url", ...required };

  test("ends the run: no function runs, nothing is composed", async () => {
    let ran = false;
    const run = runOf([template("a", [up])], [(input) => ((ran = true), input)]);
    const error = await failure(runPipeline({ ...run, observed: [observedBucket("a")] }));
    expect(error).toMatchObject({ code: "TemplatesFailed", retryable: false });
    expect(error.message).toContain("spec.resources[0].patches[0]");
    expect(ran).toBe(false);
  });

  test("is not tried while the composed resource does not exist", async () => {
    expect((await runPipeline(runOf([template("a", [up])]))).composed).toHaveLength(1);
  });

  test("can be one that would change the identity of the XR", async () => {
    const rename = { ...up, fromFieldPath: "spec.region", toFieldPath: "metadata.name" };
    const error = await failure(runPipeline({ ...runOf([template("a", [rename])]), observed: [observedBucket("a")] }));
    expect(error).toMatchObject({ code: "TemplatesFailed", message: expect.stringContaining("metadata.name") });
  });
});

describe("templates before functions", () => {
  test("the first function gets their resources, without their checks and details", async () => {
    let seen: FunctionIO | undefined;
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.url", toFieldPath: "status.url" };
    const rest = { readinessChecks: [{ type: "None" }], connectionDetails: [{ name: "x", value: "y" }] };
    const run = runOf(
      [template("a", [up], rest), template("b")],
      [
        (input) => {
          seen = parseFunctionIO(input);
          return input;
        },
      ],
    );
    const composite = xr({ uid: "u-1" });
    await runPipeline({ ...run, composite, observed: [observedBucket("a", isReadyNow)] });
    const desired = plain(seen?.desired) as { composite: unknown; resources: Json[] };
    expect(desired.composite).toEqual({
      resource: { apiVersion: "example.org/v1alpha1", kind: "XStore", status: { url: "http://x" } },
    });
    expect(desired.resources.map((entry) => Object.keys(entry))).toEqual([
      ["name", "resource"],
      ["name", "resource"],
    ]);
    expect(desired.resources).toMatchObject([
      { name: "a", resource: { metadata: { name: "store-a" } } },
      { name: "b", resource: { metadata: { name: composedName("my-store-", "u-1", "b") } } },
    ]);
    expect(plain(seen?.observed.composite)).toEqual({ resource: composite });
  });

  test("a function can change, drop and delete their resources", async () => {
    const run = runOf(
      [template("changed"), template("dropped"), template("deleted")],
      [
        changes((io) => {
          const resources = (io.desired?.resources ?? []).filter(({ name }) => name !== "dropped");
          for (const entry of resources) {
            if (entry.name === "deleted") entry.resource = null;
            else if (entry.resource !== null) entry.resource["spec"] = { region: "us" };
          }
          io.desired = { ...io.desired, resources };
        }),
      ],
    );
    const { composed, deleted, results } = await runPipeline({
      ...run,
      observed: ["changed", "dropped", "deleted", "unknown"].map((name) => observedBucket(name)),
    });
    expect(plain(composed.map(({ name, resource }) => [name, resource["spec"]]))).toEqual([
      ["changed", { region: "us" }],
    ]);
    expect(deleted).toEqual(["deleted"]);
    expect(results).toEqual([{ severity: "Warning", step: "step-1", message: expect.stringContaining('"dropped"') }]);
  });

  test("a function that drops their changes to the XR causes a warning", async () => {
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "spec.region", toFieldPath: "status.region" };
    const run = runOf([template("a", [up])], [changes((io) => void delete io.desired?.composite)]);
    const { results, desired } = await runPipeline({ ...run, observed: [observedBucket("a")] });
    expect(results).toEqual([
      { severity: "Warning", step: "step-1", message: expect.stringContaining("dropped desired.composite") },
    ]);
    expect(desired.composite).toBeUndefined();
  });

  test("undesired objects stay, unless the Composition says Delete", async () => {
    const deleted = async (undesiredResources: string): Promise<string[]> => {
      const run = runOf([template("a")], [changes(() => undefined)], { undesiredResources });
      return (await runPipeline({ ...run, observed: [observedBucket("old")] })).deleted;
    };
    expect(await deleted("Keep")).toEqual([]);
    expect(await deleted("Delete")).toEqual(["old"]);
  });

  test("after a fatal result nothing is composed, deleted or unready", async () => {
    const fatal = changes((io) => void (io.results = [{ severity: "Fatal", message: "no" }]));
    const run = { ...runOf([template("a"), template("b", [broken])], [fatal]), observed: [observedBucket("old")] };
    expect(await runPipeline(run)).toMatchObject({ composed: [], deleted: [], unready: [], fatal: { message: "no" } });
  });
});

describe("readiness", () => {
  const check = (fieldPath: string, matchString: string): Json => ({ type: "MatchString", fieldPath, matchString });
  const extra = (readinessChecks: Json[]): InProcessFunction =>
    changes((io) => {
      for (const entry of io.desired?.resources ?? []) entry.readinessChecks = readinessChecks as never;
    });
  const ready = async (checks: Json, functions: InProcessFunction[], status: Json): Promise<boolean | undefined> => {
    const run = runOf([template("a", [], checks)], functions);
    return (await runPipeline({ ...run, observed: [observedBucket("a", { status })] })).composed[0]?.ready;
  };
  const url = check("status.url", "u");
  const zone = check("status.zone", "z");

  test("the checks of a template and of functions must all hold", async () => {
    const checks = { readinessChecks: [url] };
    expect(await ready(checks, [extra([zone])], { url: "u", zone: "z" })).toBe(true);
    expect(await ready(checks, [extra([zone])], { url: "u" })).toBe(false);
    expect(await ready(checks, [extra([zone])], { zone: "z" })).toBe(false);
    expect(await ready(checks, [], { url: "u" })).toBe(true);
  });

  test("a template without checks requires the Ready condition, whatever functions add", async () => {
    const { status } = isReadyNow;
    expect(await ready({}, [extra([{ type: "None" }])], {})).toBe(false);
    expect(await ready({}, [extra([{ type: "None" }])], status)).toBe(true);
    expect(await ready({ readinessChecks: [{ type: "None" }] }, [extra([])], {})).toBe(true);
  });

  test("a template's check that cannot be evaluated is a warning that names the template", async () => {
    const run = runOf([template("a", [], { readinessChecks: [check("status.url.deep", "u")] })]);
    const { results, unready } = await runPipeline({ ...run, observed: [observedBucket("a", isReadyNow)] });
    expect(unready).toEqual(["a"]);
    expect(results).toEqual([
      { severity: "Warning", message: expect.stringContaining("its template's readinessChecks[0]") },
    ]);
  });
});

describe("connection details", () => {
  test("of a template and of functions are all published; of two with one name, the function's", async () => {
    const rest = { connectionDetails: [{ fromConnectionSecretKey: "user" }, { name: "x", value: "template" }] };
    const own = [
      { name: "x", value: "function" },
      { name: "url", fromFieldPath: "status.url" },
    ];
    const add = changes((io) => {
      for (const entry of io.desired?.resources ?? []) entry.connectionDetails = own;
    });
    const run = runOf([template("a", [], rest)], [add]);
    const result = await runPipeline({ ...run, observed: [observedBucket("a", isReadyNow, { user: "admin" })] });
    expect([...result.connectionDetails]).toEqual([
      ["url", "http://x"],
      ["user", "admin"],
      ["x", "function"],
    ]);
    expect(result.results).toEqual([]);
  });

  test("of a resource that a function deletes or drops are not published", async () => {
    const run = runOf(
      [template("a", [], { connectionDetails: [{ name: "x", value: "y" }] })],
      [changes((io) => void (io.desired = { resources: [{ name: "a", resource: null }] }))],
    );
    expect((await runPipeline({ ...run, observed: [observedBucket("a")] })).connectionDetails.size).toBe(0);
  });
});

describe("unsupported Compositions", () => {
  test("mode: Pipeline is a clear error", async () => {
    const { composition, ...run } = runOf([]);
    const pipeline = { ...composition, spec: { ...composition.spec, mode: "Pipeline" as const } };
    const error = await failure(runPipeline({ ...run, composition: pipeline }));
    expect(error).toMatchObject({ code: "Unsupported", message: expect.stringContaining("mode: Pipeline") });
  });
});

describe("the record of templates", () => {
  async function records(run: PipelineInput): Promise<StepRecord[]> {
    const found: StepRecord[] = [];
    await runPipeline({ ...run, onRecord: (record) => found.push(record) }).catch(() => undefined);
    return found;
  }

  test("comes before those of functions, with each write and what failed", async () => {
    const [first, second] = await records(
      runOf([template("a", [copySize]), template("b", [broken])], [prints("nonsense: [")]),
    );
    expect(first).toMatchObject({ name: "templates", kind: "templates", before: {}, inputBytes: 0, outputBytes: 0 });
    expect(first?.writes).toEqual([
      {
        resource: "a",
        template: "a",
        path: "spec.size",
        source: "spec.resources[0].patches[0]",
        from: "FromCompositeFieldPath spec.size",
      },
    ]);
    expect(first?.results).toHaveLength(1);
    expect(first?.after.resources?.map(({ name }) => name)).toEqual(["a"]);
    expect(second?.before).toBe(first?.after);
  });

  test("says why the run ended with them", async () => {
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.nope", ...required };
    const [only, ...rest] = await records({ ...runOf([template("a", [up])]), observed: [observedBucket("a")] });
    expect(only).toMatchObject({ kind: "templates", error: { code: "TemplatesFailed" } });
    expect(rest).toEqual([]);
  });

  test("is not made where there are no templates", async () => {
    expect((await records(runOf([], [(input) => input]))).map(({ kind }) => kind)).toEqual(["function"]);
  });
});
