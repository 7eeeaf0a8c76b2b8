import type { ResourceSelector } from "@xfn/function-grpc";
import { parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import { printJson } from "@xfn/json/text";
import { afterAll, describe, expect, test } from "vitest";
import { bucket, changes, compositionOf, packagesOf, prints, runOf, xr } from "../../testing/fixtures.ts";
import { type Handler, pipelineOf } from "../../testing/packages.ts";
import { addsBucket, recordingsFolder } from "../../testing/recordings.ts";
import { type InProcessFunction, inProcessRunner } from "../in-process.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import type { PipelineInput } from "../steps/pipeline-input.ts";
import { type PipelineResult, runPipeline } from "../steps/run-pipeline.ts";
import { buildTrace } from "../trace/index.ts";
import { type Recording, Replay, RunRecorder } from "./index.ts";

const { record, remove } = recordingsFolder();
afterAll(remove);

async function replay(recording: Recording, input: PipelineInput, onDifference?: () => void): Promise<PipelineResult> {
  const run = new Replay(recording, { onDifference });
  return await run.run(() => runPipeline({ ...input, ...run.callers(input.composition, input.credentials) }));
}

/** A function that returns the password in several places. No input contains the password. */
const secretFrom = (password: string): InProcessFunction =>
  changes((io) => {
    io.desired = {
      ...io.desired,
      composite: { ...io.desired?.composite, connectionDetails: [{ name: "password", value: password }] },
      resources: [
        {
          name: "secret",
          resource: { apiVersion: "v1", kind: "Secret", data: { key: Buffer.from(password).toString("base64") } },
        },
        { name: "url", resource: bucket({ spec: { url: `pg://admin:${password}@db` } }) as never },
      ],
    };
  });

describe("a run that is replayed", () => {
  test("has the same result, and calls nothing", async () => {
    const input = runOf(
      addsBucket,
      changes((io) => void (io.results = [{ severity: "Warning", message: "hello" }])),
    );
    const expected = await runPipeline(input);
    const { recording } = await record(input);
    const result = await replay(recording, input);
    expect(printJson(result.desired as never)).toBe(printJson(expected.desired as never));
    expect(result.results).toEqual(expected.results);
    expect(recording).toMatchObject({
      status: "Succeeded",
      steps: [{ name: "step-1", type: "Function" }, { name: "step-2" }],
    });
  });

  test("names the step and the field of an input that differs, with both values", async () => {
    const input = runOf(addsBucket, addsBucket);
    const { recording } = await record(input);
    const changed = { ...input, composite: xr({}, { spec: { size: 4 } }) };
    await expect(replay(recording, changed)).rejects.toMatchObject({
      code: "InputDiffers",
      step: "step-1",
      differences: expect.arrayContaining(["observed.composite.resource.spec.size: recorded 3, now 4"]) as unknown,
    });
    let differences = 0;
    const result = await replay(recording, changed, () => void differences++);
    expect(result.composed.map(({ name }) => name)).toEqual(["b"]);
    expect(differences).toBe(2);
  });

  test("reports a step that was not recorded, one that does not run, and one of another kind", async () => {
    const two = runOf(addsBucket, addsBucket);
    const { recording } = await record(two);
    const one = runOf(addsBucket);
    await expect(replay(recording, one)).rejects.toMatchObject({ code: "StepMismatch", step: "step-2" });
    const { recording: shorter } = await record(one);
    await expect(replay(shorter, two)).rejects.toMatchObject({ code: "StepMismatch", step: "step-2" });
    const packages = { ...one, composition: pipelineOf([{ step: "step-1", handler: () => ({}) }]) };
    await expect(replay(shorter, packages)).rejects.toMatchObject({ code: "StepMismatch", step: "step-1" });
  });

  test("fails where the recorded run failed", async () => {
    const fails: InProcessFunction = () =>
      Promise.reject(Object.assign(new Error("no such image"), { code: "PullFailed" }));
    const input = runOf(addsBucket, fails, addsBucket);
    const { recording } = await record(input);
    expect(recording).toMatchObject({
      status: "Failed",
      error: { code: "RunFailed" },
      steps: [{ calls: [{ output: {} }] }, { calls: [{ error: { code: "PullFailed", message: "no such image" } }] }],
    });
    await expect(replay(recording, input)).rejects.toMatchObject({ code: "RecordedFailure", step: "step-2" });
    const { recording: unreadable } = await record(runOf(prints("{ not yaml")));
    expect(unreadable.steps[0]?.calls[0]?.error?.code).toBe("InvalidOutput");
  });

  test("records the second attempt of a call that failed, and the steps up to a fatal result", async () => {
    let attempts = 0;
    const flaky = { ...runOf(addsBucket), onRecord: undefined };
    const { runner } = flaky;
    const retrying: PipelineInput["runner"] = {
      run: async (...call) => await (++attempts === 1 ? Promise.reject(new Error("busy")) : runner.run(...call)),
    };
    const recorder = new RunRecorder();
    const recorded = recorder.callers({ runner: retrying }).runner;
    const input = new TextEncoder().encode("{}");
    await expect(recorded.run("image-1", input, { step: "s" })).rejects.toThrow("busy");
    await recorded.run("image-1", new TextEncoder().encode(FUNCTION_IO), { step: "s" });
    expect(recorder.finish({}).steps[0]?.calls).toHaveLength(1);
    const fatal = changes((io) => void (io.results = [{ severity: "Fatal", message: "stop" }]));
    expect((await record(runOf(fatal, addsBucket))).recording).toMatchObject({
      status: "Fatal",
      steps: [{ name: "step-1" }],
    });
  });
});

const FUNCTION_IO =
  '{"apiVersion":"apiextensions.crossplane.io/v1alpha1","kind":"FunctionIO","observed":{},"desired":{}}';

describe("secrets", () => {
  const password = "hunter2-generated";
  const token = "t0ken-of-the-config";
  const config = { apiVersion: "c/v1", kind: "C", apiToken: token, pin: 4711, password: 123456789 };
  const secretInput = (by: InProcessFunction): PipelineInput => ({
    ...runOf(by, addsBucket),
    composition: compositionOf([
      { name: "step-1", container: { image: "image-1" }, config },
      { name: "step-2", container: { image: "image-2" } },
    ]),
    connectionDetails: [{ name: "root", value: "observed-password" }],
    composite: xr({}, { spec: { size: 3, userName: token } }),
  });

  test("are in no file, in no form, also where only a later step shows that they are secret", async () => {
    const { text, recording } = await record(secretInput(secretFrom(password)));
    for (const secret of [password, token, "observed-password", "123456789"]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString("base64").replace(/=+$/, ""));
    }
    expect(text).toContain("4711");
    const [first] = recording.steps;
    expect(first?.calls[0]?.input).toMatchObject({
      config: { apiToken: expect.stringMatching(/^\(secret \d+\)$/) as unknown },
    });
  });

  test("are masked alike in two recordings, and show again with their public names", async () => {
    const one = await record(secretInput(secretFrom(password)));
    const two = await record(secretInput(secretFrom("another-password")));
    expect(two.text).toBe(one.text);
    const shown = await record(secretInput(secretFrom(password)), { publicNames: ["apiToken"] });
    expect(shown.text).toContain(`apiToken: ${token}`);
  });

  test("can have other values in a replay; those of the input come back, and those of functions stay masked", async () => {
    const { recording } = await record(secretInput(secretFrom(password)));
    const result = await replay(recording, {
      ...secretInput(addsBucket),
      connectionDetails: [{ name: "root", value: "other" }],
    });
    const details = [...result.connectionDetails];
    expect(details).toEqual([["password", expect.stringMatching(/^\(secret \d+\)$/)]]);
    expect(result.results).toEqual([]);
  });

  test("that were equal in the recording must be equal, and messages hide them", async () => {
    const { recording } = await record(secretInput(secretFrom(password)));
    const changed = { ...secretInput(addsBucket), composite: xr({}, { spec: { size: 3, userName: "somebody-else" } }) };
    const error: unknown = await replay(recording, changed).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "InputDiffers" });
    expect(String(error)).toContain('spec.userName: recorded "(secret 1)", now (hidden)');
    expect(String(error)).not.toContain("somebody-else");
  });

  test("which are tokens of webhooks are in no file and in no trace if a webhook returns them", async () => {
    const token = "t0ken";
    const seen: StepRecord[] = [];
    const input: PipelineInput = {
      ...runOf(),
      composition: compositionOf([
        {
          name: "call",
          type: "Webhook",
          webhook: { url: "https://functions.example.org", credentials: { secretRef: { namespace: "n", name: "s" } } },
        },
      ]),
      credentials: async () => new Map([["token", Buffer.from(token)]]),
      webhooks: {
        maxOutputBytes: 1_000_000,
        call: async (_, bytes, options) => {
          const results = [{ severity: "Warning" as const, message: `used ${options.token}` }];
          const resources = [{ name: "b", resource: bucket({ spec: { copy: options.token ?? "" } }) as never }];
          return Buffer.from(printFunctionIO({ ...parseFunctionIO(bytes), desired: { resources }, results }));
        },
      },
      onRecord: (one) => seen.push(one),
    };
    const { text } = await record(input);
    const trace = printJson(buildTrace({ ...input, records: seen }) as never);
    for (const shown of [text, trace]) {
      expect(shown).toContain("Warning");
      expect(shown).not.toContain(token);
    }
  });

  test("a text that looks like a mask is masked", async () => {
    const input = { ...runOf(addsBucket), composite: xr({}, { spec: { size: "(secret 7)" } }) };
    const { recording } = await record(input);
    expect(recording.steps[0]?.calls[0]?.input).toMatchObject({
      observed: { composite: { resource: { spec: { size: "(secret 1)" } } } },
    });
  });
});

describe("function packages", () => {
  const selector: ResourceSelector = { apiVersion: "v1", kind: "ConfigMap", match: { name: "settings" } };
  const requires: Handler = ({ requiredResources, credentials }) => ({
    requirements: { extraResources: new Map(), resources: new Map([["settings", selector]]), schemas: new Map() },
    results: [
      {
        severity: "Normal",
        message: `${requiredResources?.get("settings")?.length} of ${credentials?.size}`,
        target: "Composite",
      },
    ],
    desired: {
      composite: {
        resource: { status: { ok: true } },
        connectionDetails: new Map([["key", Buffer.from([0xff, 0xfe])]]),
      },
      resources: new Map([["bucket", { resource: bucket() as never, ready: true }]]),
    },
    conditions: [{ type: "Checked", status: "True", reason: "Seen", target: "Composite" }],
  });
  const fields = { credentials: [{ name: "cloud", source: "Secret", secretRef: { namespace: "n", name: "s" } }] };
  const input: PipelineInput = {
    composite: xr({ uid: "0749c14a-4f6a-5a82-a298-88e58db51cf6" }),
    composition: pipelineOf([{ step: "requires", handler: requires, fields }]),
    runner: inProcessRunner({}),
    functions: packagesOf(() => requires, ["spec.big"]),
    required: {
      resources: async () =>
        await Promise.resolve([{ resource: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" } } }]),
      schema: async () => await Promise.resolve(undefined),
    },
    credentials: async () => await Promise.resolve(new Map([["access", Buffer.from("cloud-access-secret")]])),
  };

  test("are recorded round by round, without their credentials, and replayed without a server", async () => {
    const expected = await runPipeline(input);
    const { recording, text } = await record(input);
    expect(recording.steps[0]).toMatchObject({
      type: "Package",
      calls: [{ input: { credentials: { cloud: {} } } }, { input: { requiredResources: { settings: [{}] } } }],
    });
    expect(text).not.toContain("cloud-access-secret");
    expect(text).not.toContain(Buffer.from("cloud-access-secret").toString("base64").slice(0, 20));
    const { credentials: _, ...without } = input;
    const result = await replay(recording, { ...without, credentials: async () => await Promise.resolve(undefined) });
    expect(result.results).toEqual(expected.results);
    expect(result.conditions).toEqual(expected.conditions);
    expect(result.ready).toBe(expected.ready);
    expect(printJson(result.composed as never)).toBe(printJson(expected.composed as never));
    const { required: _2, ...unsatisfied } = input;
    await expect(replay(recording, unsatisfied)).rejects.toMatchObject({ code: "InputDiffers", step: "requires" });
  });
});

test("a run that exchanges too much is not recorded, and its bytes are not kept", async () => {
  const recorder = new RunRecorder(100);
  const input = runOf(addsBucket, addsBucket);
  await runPipeline(recorder.callers(input));
  expect(() => recorder.finish({})).toThrow(expect.objectContaining({ code: "TooLarge" }) as Error);
});
