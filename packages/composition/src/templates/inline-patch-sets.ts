import type { Patch, PatchSet, ResourceTemplate } from "../api/template.ts";
import { type CompiledPatch, compilePatch } from "./compile-patch.ts";
import { itemsOf, textOrNone } from "./items-of.ts";
import { TemplateError } from "./template-error.ts";

/**
 * The most patches of all templates together, enough for a thousand templates with two hundred patches each. Ten
 * thousand references to a large patch set would exhaust the memory.
 */
const MAX_PATCHES = 200_000;

/**
 * Compiles the patches of each template, and replaces references by the patches of the patch set. The last patch set
 * with a name wins.
 *
 * @param field the field of the templates
 * @throws {TemplateError} `InvalidPatch`: a patch set within a patch set, or a reference to one that does not exist
 */
export function inlinePatchSets(
  templates: readonly ResourceTemplate[],
  patchSets: readonly PatchSet[] | undefined,
  field: string,
): CompiledPatch[][] {
  const sets = new Map<string, CompiledPatch[]>();
  for (const [setIndex, set] of itemsOf(patchSets)) {
    const compiled = itemsOf(set.patches).map(([index, patch]) => {
      const source = `spec.patchSets[${setIndex}].patches[${index}]`;
      if (patch.type !== "PatchSet") return compilePatch(patch, source);
      throw new TemplateError("InvalidPatch", source, "a patch set cannot contain a patch of type PatchSet");
    });
    sets.set(
      set.name,
      compiled.filter((patch) => patch !== undefined),
    );
  }
  let count = 0;
  return templates.map((template, templateIndex) => {
    const inlined: CompiledPatch[] = [];
    for (const [index, patch] of itemsOf(template.patches)) {
      const source = `${field}[${templateIndex}].patches[${index}]`;
      const patches = patch.type === "PatchSet" ? setOf(sets, patch, source) : [compilePatch(patch, source)];
      count += patches.length;
      if (count > MAX_PATCHES) {
        throw new TemplateError("TooLarge", source, `the templates have more than ${MAX_PATCHES} patches in all`);
      }
      for (const one of patches) if (one !== undefined) inlined.push(one);
    }
    return inlined;
  });
}

function setOf(sets: ReadonlyMap<string, CompiledPatch[]>, patch: Patch, source: string): CompiledPatch[] {
  const name = textOrNone(patch.patchSetName);
  if (name === undefined) throw new TemplateError("InvalidPatch", source, "a PatchSet patch needs patchSetName");
  const set = sets.get(name);
  if (set !== undefined) return set;
  throw new TemplateError("InvalidPatch", source, `there is no patch set ${JSON.stringify(name.slice(0, 64))}`);
}
