#!/usr/bin/env node
/**
 * Build step: generates a file of the sample deployment that should not be in a repository: the
 * certificate of its order desk, which `endpoints/orders/` trusts. With it a fresh clone passes
 * `--check`.
 */
import { fileURLToPath } from "node:url";
import { ensureCertificate } from "../src/server/certificate.ts";

await ensureCertificate(fileURLToPath(new URL("../../.agtp/sample", import.meta.url)));
