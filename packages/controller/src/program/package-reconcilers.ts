import type { PackageReconcilers } from "../engine/package-controllers.ts";
import type { Context } from "../objects/context.ts";
import { FUNCTION_REVISIONS, FUNCTIONS } from "../objects/kinds.ts";
import { compositionRevisionReconciler } from "../package/reconcile-composition-revision.ts";
import { packageReconciler } from "../package/reconcile-package.ts";
import { packageRevisionReconciler } from "../package/reconcile-revision.ts";
import { functionRuntimeReconciler, providerRuntimeReconciler } from "../runtime/reconcile-runtime.ts";

/** The reconcilers of packages and runtimes, as far as they are enabled. */
export function packageReconcilers(context: Context): PackageReconcilers {
  const { functionPackages = false, functionRuntimes = false } = context;
  return {
    ...(functionPackages && {
      function: packageReconciler(context, { kind: FUNCTIONS, revisionKind: FUNCTION_REVISIONS }),
      functionRevision: packageRevisionReconciler(context, {
        revisionKind: FUNCTION_REVISIONS,
        packageKind: "Function",
      }),
    }),
    ...(functionRuntimes && {
      functionRuntime: functionRuntimeReconciler(context),
      providerRuntime: providerRuntimeReconciler(context),
      compositionRevision: compositionRevisionReconciler(context),
    }),
  };
}
