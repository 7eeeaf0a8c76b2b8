import type { JsonValue, KubernetesObject } from "@xfn/json";
import { templateExtras } from "../compose/template-extras.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import { render as renderResult } from "../render/render.ts";
import type { RenderResult } from "../render/render-types.ts";
import { buildTrace, type Trace } from "../trace/index.ts";
import { entryName } from "./entry-name.ts";
import { type Prepared, prepare, type TestInput } from "./prepare.ts";
import { readinessReasons } from "./readiness-reasons.ts";
import { Rendering, type RenderingFacts } from "./rendering.ts";

/**
 * Renders a Composition for an XR, with the engine of `xfn render` and the controller.
 *
 * A fatal result is returned (`fatal`). Failures without a result are thrown.
 *
 * @throws {TestingError} if the test is set up incorrectly
 * @throws {DocumentError} if a text is neither YAML nor JSON
 * @throws {CompositionError} if the Composition is invalid
 * @throws {DefinitionError} if the definition is invalid or for another kind
 * @throws {SchemaError} if a schema of `schemas` is invalid
 * @throws {PipelineError} if a function cannot run or returns an invalid FunctionIO
 * @throws {RecordingError} if the recording cannot be read, or the run differs from the recorded one
 */
export async function render(input: TestInput): Promise<Rendering> {
  const prepared = prepare(input);
  try {
    const { result, facts } = await renderRound(prepared, prepared);
    return new Rendering(result, { ...facts, rounds: 1 });
  } finally {
    await prepared.close();
  }
}

/** The part of the input that changes from round to round. */
export interface Round {
  composite: JsonValue;
  /** Observed resources, each with its annotation. */
  observed: readonly JsonValue[];
}

/** Renders one round of a test. */
export async function renderRound(
  prepared: Prepared,
  round: Round,
): Promise<{ result: RenderResult; facts: Omit<RenderingFacts, "rounds"> }> {
  const { composition, runner, replay, signal, keyFindings, environmentConfigs } = prepared;
  const records: StepRecord[] = [];
  const run = async (): Promise<RenderResult> =>
    await renderResult({
      composite: round.composite,
      composition,
      observed: round.observed,
      environmentConfigs,
      runner,
      ...prepared.pipeline,
      ...(signal && { signal }),
      onRecord: (record) => records.push(record),
    });
  const result = await (replay === undefined ? run() : replay.run(run));
  const desired = records.at(-1)?.after.resources ?? [];
  const checks = new Map(desired.map(({ name, readinessChecks = [] }) => [name, readinessChecks]));
  const observed = new Map(round.observed.map((object) => [entryName(object), object as KubernetesObject]));
  const extras = templateExtras(composition);
  const composed = new Set(result.resources.map(entryName));
  const reasons = result.unready.map((name): [string, string[]] => {
    if (!composed.has(name)) return [name, ["it is not composed; the warnings say why"]];
    const template = extras.get(name)?.readinessChecks ?? [];
    return [name, readinessReasons(observed.get(name), { template, functions: checks.get(name) ?? [] })];
  });
  const trace = (): Trace =>
    buildTrace({ records, composite: round.composite as KubernetesObject, composition, observed: round.observed });
  // After a fatal result, functions that would have exposed a key did not run.
  const about = result.fatal === undefined ? keyFindings(result.exposedByFunctions) : [];
  const findings = [...prepared.findings, ...about];
  return { result, facts: { reasons: new Map(reasons), findings, trace } };
}
