import type { JsonValue, KubernetesObject } from "@xfn/functionio";
import { templateExtras } from "../compose/template-extras.ts";
import type { StepRecord } from "../outcome/step-record.ts";
import { type RenderResult, render as renderResult } from "../render/render.ts";
import { buildTrace, type Trace } from "../trace/index.ts";
import { entryName } from "./entry-name.ts";
import { type Prepared, prepare, type TestInput } from "./prepare.ts";
import { readinessReasons } from "./readiness-reasons.ts";
import { Rendering, type RenderingFacts } from "./rendering.ts";

/**
 * What a Composition makes of an XR, by the engine that `xfn render` and the controller have.
 *
 * A fatal result is a value (`fatal`); what would make `xfn render` fail without a result is thrown.
 *
 * @throws {TestingError} when the test is set up wrongly
 * @throws {DocumentError} when a text is neither YAML nor JSON
 * @throws {CompositionError} when the Composition is wrong
 * @throws {DefinitionError} when the definition is wrong, or of another kind
 * @throws {PipelineError} when a function cannot be run, or returns what is no FunctionIO
 */
export async function render(input: TestInput): Promise<Rendering> {
  const prepared = prepare(input);
  const { result, facts } = await renderRound(prepared, prepared);
  return new Rendering(result, { ...facts, rounds: 1 });
}

/** What changes from round to round. */
export interface Round {
  composite: JsonValue;
  /** Each with its annotation. */
  observed: readonly JsonValue[];
}

/** One render of a test that may have several. */
export async function renderRound(
  prepared: Prepared,
  round: Round,
): Promise<{ result: RenderResult; facts: Omit<RenderingFacts, "rounds"> }> {
  const { composition, runner, signal, findings, environmentConfigs } = prepared;
  const records: StepRecord[] = [];
  const result = await renderResult({
    composite: round.composite,
    composition,
    observed: round.observed,
    environmentConfigs,
    runner,
    ...(signal && { signal }),
    onRecord: (record) => records.push(record),
  });
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
  return { result, facts: { reasons: new Map(reasons), findings, trace } };
}
