import type { Patch, PatchSet, ResourceTemplate } from "../template.ts";
import { TemplateError } from "./template-error.ts";

/** A patch, and where its author wrote it. */
export interface PlacedPatch {
  patch: Patch;
  source: string;
}

/**
 * The patches of each template with those of its patch sets in their place. Of patch sets with one name the last counts.
 *
 * @param field where the templates are written
 * @throws {TemplateError} `InvalidPatch`: a patch set within a patch set, used or not; or one that does not exist
 */
export function inlinePatchSets(
  templates: readonly ResourceTemplate[],
  patchSets: readonly PatchSet[],
  field: string,
): readonly PlacedPatch[][] {
  const sets = new Map<string, PlacedPatch[]>();
  for (const [setIndex, set] of patchSets.entries()) {
    const patches = (set.patches ?? []).map((patch, index) => {
      const source = `spec.patchSets[${setIndex}].patches[${index}]`;
      if (patch.type !== "PatchSet") return { patch, source };
      throw new TemplateError("InvalidPatch", source, "a patch set cannot contain a patch of type PatchSet");
    });
    sets.set(set.name, patches);
  }
  return templates.map((template, templateIndex) =>
    (template.patches ?? []).flatMap((patch, index) => {
      const source = `${field}[${templateIndex}].patches[${index}]`;
      if (patch.type !== "PatchSet") return [{ patch, source }];
      const name = patch.patchSetName ?? undefined;
      if (name === undefined) {
        throw new TemplateError("InvalidPatch", source, "a PatchSet patch needs patchSetName");
      }
      const set = sets.get(name);
      if (set !== undefined) return set;
      throw new TemplateError("InvalidPatch", source, `there is no patch set ${JSON.stringify(name)}`);
    }),
  );
}
