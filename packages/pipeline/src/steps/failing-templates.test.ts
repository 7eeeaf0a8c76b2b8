import { type FunctionIO, parseFunctionIO } from "@xfn/functionio";
import { describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, desires, failure, xr } from "../../testing/fixtures.ts";
import {
  base,
  broken,
  copySize,
  isReadyNow,
  type Json,
  observedBucket,
  required,
  template,
  templateRun,
} from "../../testing/template-runs.ts";
import type { InProcessFunction } from "../in-process.ts";
import { runPipeline } from "./run-pipeline.ts";

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
    const run = templateRun([template("a", [spoil as Json]), template("b", [empty as Json])]);
    const { composed, results } = await runPipeline({ ...run, composite: xr({ uid: "u-1" }) });
    expect(composed.map(({ name, resource }) => [name, resource.metadata?.name !== undefined])).toEqual([["b", true]]);
    expect(results).toEqual([
      expect.objectContaining({ message: expect.stringContaining("metadata is not an object") }),
    ]);
  });

  test("is a warning that names it and its patch; others are composed, and the XR is not ready", async () => {
    const warnings: unknown[] = [];
    const run = templateRun([template("a", [broken]), template("b", [], { readinessChecks: [{ type: "None" }] })]);
    const result = await runPipeline({ ...run, onWarning: (warning) => warnings.push(warning) });
    expect(result.results).toEqual([failed]);
    expect(warnings).toEqual([failed]);
    expect(result.composed.map((one) => one.name)).toEqual(["b"]);
    expect(result.unready).toEqual(["a"]);
  });

  test("deletes no existing object, under any rule for undesired resources", async () => {
    const observed = [observedBucket("a", isReadyNow), observedBucket("old")];
    const without = await runPipeline({ ...templateRun([template("a", [broken])]), observed });
    expect(without).toMatchObject({ deleted: ["old"], unready: ["a"], composed: [] });
    const functions = templateRun([template("a", [broken])], [changes(() => undefined)], {
      undesiredResources: "Delete",
    });
    expect(await runPipeline({ ...functions, observed })).toMatchObject({ deleted: ["old"], unready: ["a"] });
  });

  test("keeps published connection details", async () => {
    const rest = { connectionDetails: [{ fromConnectionSecretKey: "user" }] };
    const observed = [observedBucket("a", isReadyNow, { user: "admin" })];
    const { connectionDetails } = await runPipeline({ ...templateRun([template("a", [broken], rest)]), observed });
    expect([...connectionDetails]).toEqual([["user", "admin"]]);
  });

  test("can be repaired by a function, which does not see the failure", async () => {
    let seen: FunctionIO | undefined;
    const repair: InProcessFunction = (input, options) => {
      seen = parseFunctionIO(input);
      return desires({ a: bucket() })(input, options);
    };
    const run = templateRun(
      [template("a", [broken], { readinessChecks: [{ type: "None" }] }), template("b")],
      [repair],
    );
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
    const run = templateRun([template("a", [broken])], [desires({ a: null })]);
    const result = await runPipeline({ ...run, observed: [observedBucket("a")] });
    expect(result).toMatchObject({ deleted: ["a"], unready: [], composed: [] });
  });

  test("is named by the field that its author wrote", async () => {
    const { composition, ...run } = templateRun([]);
    const to = compositionOf([], { to: [{ base, patches: [broken] }] });
    const { results } = await runPipeline({ ...run, composition: { ...composition, spec: to.spec } });
    expect(results[0]?.message).toContain('"template-0": cannot be rendered: spec.to[0].patches[0]: ');
  });

  test("can be one with an impossible result: an object of another group than the existing one", async () => {
    const observed = [{ name: "a", resource: { ...bucket({ metadata: { name: "x" } }), apiVersion: "other/v1" } }];
    const { results, composed, deleted } = await runPipeline({ ...templateRun([template("a")]), observed });
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
    const run = templateRun([template("a", [up])], [(input) => ((ran = true), input)]);
    const error = await failure(runPipeline({ ...run, observed: [observedBucket("a")] }));
    expect(error).toMatchObject({ code: "TemplatesFailed", retryable: false });
    expect(error.message).toContain("spec.resources[0].patches[0]");
    expect(ran).toBe(false);
  });

  test("is not tried while the composed resource does not exist", async () => {
    expect((await runPipeline(templateRun([template("a", [up])]))).composed).toHaveLength(1);
  });

  test("can be one that would change the identity of the XR", async () => {
    const rename = { ...up, fromFieldPath: "spec.region", toFieldPath: "metadata.name" };
    const error = await failure(
      runPipeline({ ...templateRun([template("a", [rename])]), observed: [observedBucket("a")] }),
    );
    expect(error).toMatchObject({ code: "TemplatesFailed", message: expect.stringContaining("metadata.name") });
  });
});
