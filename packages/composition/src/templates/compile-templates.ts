import { compileSpec, type TemplatesSpec } from "./compile-spec.ts";
import { RenderRun } from "./render-run.ts";
import type { RenderedTemplates, TemplatesInput } from "./rendering.ts";
import { TemplateError } from "./template-error.ts";

/** Compiled templates, which can be rendered any number of times. */
export interface CompiledTemplates {
  /** @throws {TemplateError} if the step fails as a whole: a patch to the XR failed, or patch sets cannot be used */
  render(input: TemplatesInput): RenderedTemplates;
}

/**
 * Compiles templates, patch sets and environment patches, with their paths, transforms and formats.
 *
 * Accepts every spec that an API server accepts. As in Crossplane, a mistake surfaces when a run reaches it. Use
 * `parseComposition` to find mistakes beforehand.
 */
export function compileTemplates(spec: TemplatesSpec): CompiledTemplates {
  const compiled = compileSpec(spec);
  return {
    render(input: TemplatesInput): RenderedTemplates {
      if (compiled instanceof TemplateError) throw compiled;
      return new RenderRun(compiled, input).render();
    },
  };
}
