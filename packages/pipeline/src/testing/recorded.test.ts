import { pathToFileURL } from "node:url";
import type { FunctionIO } from "@xfn/functionio";
import { afterAll, describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, runOf, xr } from "../../testing/fixtures.ts";
import { recordingsFolder } from "../../testing/recordings.ts";
import { inProcessRunner } from "../in-process.ts";
import { compareWithRecording, converge, render } from "./index.ts";

const { record, remove } = recordingsFolder();
afterAll(remove);

const DOCUMENT = {
  apiVersion: "apiextensions.crossplane.io/v1",
  kind: "Composition",
  metadata: { name: "stores" },
  spec: {
    compositeTypeRef: { apiVersion: "example.org/v1alpha1", kind: "XStore" },
    functions: [{ name: "step-1", type: "Container", container: { image: "image-1" } }],
  },
};

function addsBuckets(size: number): (io: FunctionIO) => FunctionIO {
  return (io) => ({
    ...io,
    desired: { ...io.desired, resources: [{ name: "b", resource: { ...bucket(), size } as never }] },
  });
}

const recordedRun = async (): Promise<URL> => pathToFileURL((await record(runOf(changes(addsBuckets(1))))).path);

describe("a recording as a fixture", () => {
  test("runs a Composition without its functions, and fails if an input differs", async () => {
    const recording = await recordedRun();
    const result = await render({ composite: xr(), composition: DOCUMENT, recording });
    expect(result).toComposeResource("b", { size: 1 });
    const other = render({ composite: xr({}, { spec: { size: 4 } }), composition: DOCUMENT, recording });
    await expect(other).rejects.toMatchObject({ name: "RecordingError", code: "InputDiffers", step: "step-1" });
  });

  test("tells what a function returns now", async () => {
    const recording = await recordedRun();
    const step = { recording, step: "step-1" };
    expect(await compareWithRecording(addsBuckets(1), step)).toEqual([]);
    expect(await compareWithRecording(addsBuckets(1), { recording })).toEqual([]);
    expect(await compareWithRecording(addsBuckets(2), step)).toEqual([
      "desired.resources[0].resource.size: recorded 1, now 2",
    ]);
  });

  test.each(["ResourceList", "KRM"])("of a step with io: %s runs functions of FunctionIO", async (io) => {
    const step = { name: "list", io, container: { image: "image-1" } };
    const composition = compositionOf([step]);
    const runner = inProcessRunner({ "image-1": (input) => input });
    const { path, recording } = await record({ composite: xr(), composition, runner });
    expect(recording.steps[0]?.calls[0]?.input["kind"]).toBe("ResourceList");
    expect(await compareWithRecording((given) => given, { recording: pathToFileURL(path), step: "list" })).toEqual([]);
  });

  test("excludes functions, convergence, other steps and other places", async () => {
    const recording = await recordedRun();
    const input = { composite: xr(), composition: DOCUMENT, recording };
    await expect(render({ ...input, functions: { "step-1": addsBuckets(1) } })).rejects.toMatchObject({
      code: "InvalidInput",
    });
    await expect(converge(input)).rejects.toMatchObject({ code: "InvalidInput" });
    await expect(render({ ...input, recording: new URL("https://example.org") })).rejects.toMatchObject({
      code: "InvalidInput",
    });
    await expect(compareWithRecording(addsBuckets(1), { recording, step: "other" })).rejects.toMatchObject({
      code: "UnknownFunction",
    });
  });
});
