import type { PackageReconcilers } from "../engine/package-controllers.ts";
import { PACKAGES } from "../package/package-kinds.ts";
import { type PackageOptions, packagePort } from "../package/package-port.ts";
import { compositionRevisionReconciler } from "../package/reconcile-composition-revision.ts";
import { lockReconciler } from "../package/reconcile-lock.ts";
import { packageReconciler } from "../package/reconcile-package.ts";
import { packageRevisionReconciler } from "../package/reconcile-revision.ts";
import { functionRuntimeReconciler, providerRuntimeReconciler } from "../runtime/reconcile-runtime.ts";
import { webhookServices } from "../runtime/webhook-services.ts";

/** The reconcilers of packages and runtimes, as far as they are enabled. */
export function packageReconcilers(options: PackageOptions): PackageReconcilers {
  const { functionPackages = false, functionRuntimes = false } = options;
  const port = packagePort(options);
  const webhooks = webhookServices(port);
  return {
    ...(functionPackages && {
      packages: Object.values(PACKAGES).map((kinds) => ({
        ...kinds,
        package: packageReconciler(port, kinds),
        revision: packageRevisionReconciler(port, kinds, webhooks),
      })),
      lock: lockReconciler(port),
    }),
    ...(functionRuntimes && {
      functionRuntime: functionRuntimeReconciler(port),
      providerRuntime: providerRuntimeReconciler(port),
    }),
    ...((functionPackages || functionRuntimes) && { compositionRevision: compositionRevisionReconciler(port) }),
  };
}
