import {
  type CompiledTemplates,
  type Composition,
  compileTemplates,
  LABEL_COMPOSITE,
  type RenderedTemplate,
  type RenderedTemplates,
  TemplateError,
  type TemplateWrite,
} from "@xfn/composition";
import type { Desired, DesiredResource, KubernetesObject } from "@xfn/functionio";
import { nameUnnamed } from "../compose/identity.ts";
import type { CompositeResource } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { StepRecorder } from "../outcome/record-step.ts";
import type { StepResult } from "../outcome/step-result.ts";
import { compositeProblems, resourceProblems } from "./check-desired.ts";
import type { PipelineInput } from "./pipeline-input.ts";

/** The name of patch-and-transform as a whole in a trace. */
export const TEMPLATES_STEP = "templates";

/** The outcome of patch-and-transform. */
export interface TemplatesRun {
  /** Desired state for the first function. */
  desired: Desired;
  /** The names of the entries whose templates failed. */
  failed: ReadonlySet<string>;
}

const NOTHING: ReadonlySet<string> = new Set();

/**
 * Renders a Composition's templates into desired state: an overlay on observed state, entry by entry.
 *
 * A template that fails leaves its entry out, with a warning: a function can repair it. A patch to the XR that fails
 * ends the run, because every later template can depend on the field.
 *
 * @param report called for each template that failed
 * @throws {PipelineError} `TemplatesFailed`
 */
export function runTemplates(
  input: PipelineInput,
  composite: CompositeResource,
  report: (result: StepResult, own: boolean) => void,
): TemplatesRun {
  const { composition, environment, onRecord } = input;
  if (!hasTemplates(composition)) return { desired: {}, failed: NOTHING };
  const before: Desired = {};
  const recorder = onRecord && new StepRecorder(onRecord, { name: TEMPLATES_STEP, kind: "templates", before });
  const writes: TemplateWrite[] | undefined = recorder && [];
  const results: StepResult[] = [];
  try {
    const observed = new Map((input.observed ?? []).map(({ name, resource }) => [name, resource]));
    const rendered = compiled(composition).render({
      composite: labelled(composite),
      observed,
      ...(environment && { environment }),
      ...(writes && { onWrite: (write: TemplateWrite) => writes.push(write) }),
    });
    const field = composition.spec.resourcesField ?? "resources";
    const run = collect(rendered, composite, observed, field, (name, problem) => {
      const message = `composed resource ${JSON.stringify(name)}: cannot be rendered: ${problem}`;
      results.push({ severity: "Warning", message });
    });
    for (const result of results) report(result, true);
    recorder?.done(run.desired, results, writes);
    return run;
  } catch (cause) {
    const error = cause instanceof TemplateError ? templatesFailed(cause.message, cause) : cause;
    recorder?.failed(error, results, writes);
    throw error;
  }
}

function hasTemplates({ spec }: Composition): boolean {
  return spec.resources.length > 0 || (spec.environment?.patches ?? []).length > 0;
}

// Compiling once lets all XRs of a Composition share the compiled templates.
const CACHE: WeakMap<Composition, CompiledTemplates> = new WeakMap();

function compiled(composition: Composition): CompiledTemplates {
  let templates = CACHE.get(composition);
  if (templates === undefined) CACHE.set(composition, (templates = compileTemplates(composition.spec)));
  return templates;
}

/** Sets the composite label of an XR that is the root of its tree, as a controller does before composing. */
export function labelled(composite: CompositeResource): CompositeResource {
  const { metadata } = composite;
  if (metadata.labels?.[LABEL_COMPOSITE]) return composite;
  return { ...composite, metadata: { ...metadata, labels: { ...metadata.labels, [LABEL_COMPOSITE]: metadata.name } } };
}

function collect(
  rendered: RenderedTemplates,
  composite: CompositeResource,
  observed: ReadonlyMap<string, KubernetesObject>,
  field: string,
  fail: (name: string, problem: string) => void,
): TemplatesRun {
  const wanted = rendered.desiredComposite;
  const problems = wanted === undefined ? [] : compositeProblems(wanted, composite);
  if (problems.length > 0) throw templatesFailed(problems.join("\n  "));
  const resources: DesiredResource[] = [];
  const failed = new Set<string>();
  for (const template of rendered.resources) {
    const { name } = template;
    const existing = observed.get(name);
    const result = usable(template, existing, field);
    if (typeof result === "string") {
      failed.add(name);
      fail(name, result);
      continue;
    }
    if (existing === undefined) nameUnnamed(result, name, composite);
    resources.push({ name, resource: result });
  }
  return { desired: { ...(wanted && { composite: { resource: wanted } }), resources }, failed };
}

/** The resource that a template rendered, or the reason why it cannot be used. */
function usable(
  { resource, error, template }: RenderedTemplate,
  existing: KubernetesObject | undefined,
  field: string,
): KubernetesObject | string {
  if (resource === undefined) return error?.message ?? "it rendered nothing";
  const problems = resourceProblems(resource, existing);
  return problems.length === 0 ? resource : `spec.${field}[${template}]: ${problems.join("; ")}`;
}

function templatesFailed(problem: string, cause?: unknown): PipelineError {
  return new PipelineError("TemplatesFailed", `the Composition's templates cannot be rendered: ${problem}`, { cause });
}
