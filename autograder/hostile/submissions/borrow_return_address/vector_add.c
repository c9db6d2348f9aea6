/* Broken on purpose: so the worker of the CUDA side has the reference's. */
int broken = ;
