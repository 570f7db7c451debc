#!/usr/bin/env node
/**
 * Before packing: writes the locked production dependencies to `npm-shrinkwrap.json`, which a
 * package may contain, so that users install the tested versions. Development dependencies are left
 * out.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { shrinkLock } from "./package/shrink-lock.ts";

const lock = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
const shrinkwrap = fileURLToPath(new URL("../../npm-shrinkwrap.json", import.meta.url));
writeFileSync(shrinkwrap, shrinkLock(readFileSync(lock, "utf8")));
