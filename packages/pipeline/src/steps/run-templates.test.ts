import { type FunctionIO, parseFunctionIO } from "@xfn/functionio";
import { describe, expect, test } from "vitest";
import { changes, prints, xr } from "../../testing/fixtures.ts";
import {
  base,
  broken,
  copySize,
  isReadyNow,
  type Json,
  observedBucket,
  plain,
  required,
  template,
  templateRun,
} from "../../testing/template-runs.ts";
import { composedName } from "../compose/composed-name.ts";
import type { InProcessFunction } from "../in-process.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import type { PipelineInput } from "./pipeline-input.ts";
import { runPipeline } from "./run-pipeline.ts";
import { labelled } from "./run-templates.ts";

describe("templates without functions", () => {
  test("compose what they render, with the identity of the XR", async () => {
    const { composed, results, unready } = await runPipeline(templateRun([template("a", [copySize])]));
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

  test("keep the labels that are strings, with a warning about each other one", async () => {
    const labelled = template("a", [{ ...copySize, toFieldPath: "metadata.labels[size]" }], {
      base: { ...base, metadata: { labels: { team: "shop", tier: "gold" } } },
    });
    const { composed, results } = await runPipeline(templateRun([labelled]));
    expect(composed[0]?.resource.metadata?.labels).toEqual({
      team: "shop",
      tier: "gold",
      "crossplane.io/composite": "my-store",
    });
    expect(results).toEqual([
      {
        severity: "Warning",
        message: expect.stringMatching(/"a": metadata\.labels\.size .*expected a string, found a number/),
      },
    ]);
  });

  test("need no working runner", async () => {
    const runner = { run: () => Promise.reject(new Error("no runner here")) };
    const { composed } = await runPipeline({ ...templateRun([template("a")]), runner });
    expect(composed).toHaveLength(1);
  });

  test("are complete: resources that no template names are deleted", async () => {
    const observed = [observedBucket("a"), observedBucket("old"), observedBucket("older")];
    const { deleted } = await runPipeline({ ...templateRun([template("a")]), observed });
    expect(deleted).toEqual(["old", "older"]);
  });

  test("see the XR's composite label, which defaults to its own name", async () => {
    const label = { ...copySize, fromFieldPath: "metadata.labels[crossplane.io/composite]", toFieldPath: "spec.of" };
    const of = async (metadata: Json): Promise<unknown> => {
      const { composed } = await runPipeline({ ...templateRun([template("a", [label])]), composite: xr(metadata) });
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
      const run = templateRun([template("a"), template("b", [{ ...copySize, toFieldPath: "metadata.name" }])]);
      const composite = xr({ uid: "u-1" }, { spec: { size: "given" } });
      return (await runPipeline({ ...run, composite })).composed.map((one) => one.resource.metadata?.name);
    };
    expect(await names()).toEqual([composedName("my-store-", "u-1", "a"), "given"]);
    expect(await names()).toEqual(await names());
  });

  test("keep the name of an existing object", async () => {
    const observed = [observedBucket("a")];
    const run = { ...templateRun([template("a")]), composite: xr({ uid: "u-1" }), observed };
    const [one] = (await runPipeline(run)).composed;
    expect(one?.resource.metadata?.name).toBe("store-a");
    expect(one?.observed).toBe(observed[0]?.resource);
  });

  test("patch the XR from composed resources that exist; later templates see it", async () => {
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.url", toFieldPath: "status.url" };
    const down = { ...copySize, fromFieldPath: "status.url", toFieldPath: "spec.url" };
    const run = {
      ...templateRun([template("a", [up]), template("b", [down])]),
      observed: [observedBucket("a", isReadyNow)],
    };
    const { desired, composed } = await runPipeline(run);
    expect(plain(desired.composite)).toEqual({
      resource: { apiVersion: "example.org/v1alpha1", kind: "XStore", status: { url: "http://x" } },
    });
    expect(plain(composed[1]?.resource["spec"])).toEqual({ region: "eu", url: "http://x" });
  });

  test("read and write the environment", async () => {
    const down = { ...copySize, type: "FromEnvironmentFieldPath", fromFieldPath: "region", toFieldPath: "spec.region" };
    const { composed } = await runPipeline({ ...templateRun([template("a", [down])]), environment: { region: "us" } });
    expect(plain(composed[0]?.resource["spec"])).toEqual({ region: "us" });
    const without = await runPipeline(templateRun([template("a", [down])]));
    expect(plain(without.composed[0]?.resource["spec"])).toEqual({ region: "eu" });
  });

  test("do not modify their input", async () => {
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.url", toFieldPath: "status.url" };
    const env = { ...copySize, type: "ToEnvironmentFieldPath", fromFieldPath: "spec.region", toFieldPath: "region" };
    const run = {
      ...templateRun([template("a", [up, copySize, env])]),
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

describe("templates before functions", () => {
  test("the first function gets their resources, without their checks and details", async () => {
    let seen: FunctionIO | undefined;
    const up = { type: "ToCompositeFieldPath", fromFieldPath: "status.url", toFieldPath: "status.url" };
    const rest = { readinessChecks: [{ type: "None" }], connectionDetails: [{ name: "x", value: "y" }] };
    const run = templateRun(
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
    expect(desired.composite).toEqual({ resource: { ...labelled(composite), status: { url: "http://x" } } });
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
    const run = templateRun(
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
    const run = templateRun([template("a", [up])], [changes((io) => void delete io.desired?.composite)]);
    const { results, desired } = await runPipeline({ ...run, observed: [observedBucket("a")] });
    expect(results).toEqual([
      { severity: "Warning", step: "step-1", message: expect.stringContaining("dropped desired.composite") },
    ]);
    expect(desired.composite).toBeUndefined();
  });

  test("undesired objects stay, unless the Composition says Delete", async () => {
    const deleted = async (undesiredResources: string): Promise<string[]> => {
      const run = templateRun([template("a")], [changes(() => undefined)], { undesiredResources });
      return (await runPipeline({ ...run, observed: [observedBucket("old")] })).deleted;
    };
    expect(await deleted("Keep")).toEqual([]);
    expect(await deleted("Delete")).toEqual(["old"]);
  });

  test("after a fatal result nothing is composed, deleted or unready", async () => {
    const fatal = changes((io) => void (io.results = [{ severity: "Fatal", message: "no" }]));
    const run = {
      ...templateRun([template("a"), template("b", [broken])], [fatal]),
      observed: [observedBucket("old")],
    };
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
    const run = templateRun([template("a", [], checks)], functions);
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

  test("a template without checks requires the Ready condition, even if functions add checks", async () => {
    const { status } = isReadyNow;
    expect(await ready({}, [extra([{ type: "None" }])], {})).toBe(false);
    expect(await ready({}, [extra([{ type: "None" }])], status)).toBe(true);
    expect(await ready({ readinessChecks: [{ type: "None" }] }, [extra([])], {})).toBe(true);
  });

  test("a template's check that cannot be evaluated is a warning that names the template", async () => {
    const run = templateRun([template("a", [], { readinessChecks: [check("status.url.deep", "u")] })]);
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
    const run = templateRun([template("a", [], rest)], [add]);
    const result = await runPipeline({ ...run, observed: [observedBucket("a", isReadyNow, { user: "admin" })] });
    expect([...result.connectionDetails]).toEqual([
      ["url", "http://x"],
      ["user", "admin"],
      ["x", "function"],
    ]);
    expect(result.results).toEqual([]);
  });

  test("of a resource that a function deletes or drops are not published", async () => {
    const run = templateRun(
      [template("a", [], { connectionDetails: [{ name: "x", value: "y" }] })],
      [changes((io) => void (io.desired = { resources: [{ name: "a", resource: null }] }))],
    );
    expect((await runPipeline({ ...run, observed: [observedBucket("a")] })).connectionDetails.size).toBe(0);
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
      templateRun([template("a", [copySize]), template("b", [broken])], [prints("nonsense: [")]),
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
    const [only, ...rest] = await records({ ...templateRun([template("a", [up])]), observed: [observedBucket("a")] });
    expect(only).toMatchObject({ kind: "templates", error: { code: "TemplatesFailed" } });
    expect(rest).toEqual([]);
  });

  test("is not made where there are no templates", async () => {
    expect((await records(templateRun([], [(input) => input]))).map(({ kind }) => kind)).toEqual(["function"]);
  });
});
