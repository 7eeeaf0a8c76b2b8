import {
  type Composition,
  compileTemplates,
  LABEL_COMPOSITE,
  type RenderedTemplate,
  type RenderedTemplates,
  TemplateError,
  type TemplateWrite,
} from "@xfn/composition";
import type { Desired, DesiredResource } from "@xfn/functionio";
import type { KubernetesObject } from "@xfn/json";
import { nameUnnamed } from "../compose/identity.ts";
import type { CompositeResource } from "../observed/observed-entries.ts";
import { PipelineError } from "../outcome/pipeline-error.ts";
import { compositeProblems, resourceProblems } from "./check-desired.ts";
import { memoized } from "./memoized.ts";
import type { PlannedStep, Run, State, StepReport, TemplatesRun } from "./step.ts";

/** The name of patch-and-transform as a whole in a trace. */
const TEMPLATES_STEP = "templates";

/** Patch-and-transform as a step: all templates of a Composition. */
export function templatesStep(composition: Composition): PlannedStep {
  const description = { name: TEMPLATES_STEP, kind: "templates" } as const;
  return { description, prepare: (run) => ({ run: (state, report) => runTemplates(composition, run, state, report) }) };
}

/**
 * Renders a Composition's templates into desired state: an overlay on observed state, entry by entry.
 *
 * A template that fails leaves its entry out, with a warning: a function can repair it. A patch to the XR that fails
 * ends the run, because every later template can depend on the field.
 *
 * @throws {PipelineError} `TemplatesFailed`
 */
function runTemplates(
  composition: Composition,
  { input, composite }: Run,
  state: State,
  { say, recorder }: StepReport,
): State {
  const { environment } = input;
  try {
    const observed = new Map((input.observed ?? []).map(({ name, resource }) => [name, resource]));
    const rendered = compiled(composition).render({
      composite: labelled(composite),
      observed,
      ...(environment && { environment }),
      ...(recorder && { onWrite: (write: TemplateWrite) => recorder.wrote(write) }),
    });
    const field = composition.spec.resourcesField ?? "resources";
    const warn = (name: string, problem: string): void =>
      say({ severity: "Warning", message: `composed resource ${JSON.stringify(name)}: ${problem}` }, true);
    for (const { name, dropped = [] } of rendered.resources)
      for (const { path, problem } of dropped)
        warn(name, `${path} is left out: ${problem}; quote it, or convert it with a transform to a string`);
    const { desired, ...templates } = collect(rendered, composite, observed, field, (name, problem) =>
      warn(name, `cannot be rendered: ${problem}`),
    );
    return { ...state, desired, templates };
  } catch (cause) {
    throw cause instanceof TemplateError ? templatesFailed(cause.message, cause) : cause;
  }
}

/** Whether a Composition has templates, or patches between the XR and its environment. */
export function hasTemplates({ spec }: Composition): boolean {
  return spec.resources.length > 0 || (spec.environment?.patches ?? []).length > 0;
}

const compiled = memoized(({ spec }: Composition) => compileTemplates(spec));

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
): TemplatesRun & { desired: Desired } {
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
  if (wanted === undefined) return { desired: { resources }, failed };
  return { desired: { composite: { resource: wanted }, resources }, composite: rendered.composite, failed };
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
