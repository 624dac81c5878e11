"""The table of seeded faults keeps up with the library."""

import pytest

from .mutation_check import first_tests, mutated
from .seeded_faults import FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_has_one_place_and_tests_that_exist(fault, pytestconfig):
    changed = mutated(fault)
    compile(changed, fault.file, "exec")
    assert fault.new != fault.old
    assert first_tests(fault)
    for test in first_tests(fault):
        file, _, name = test.partition("::")
        assert f"def {name}" in (pytestconfig.rootpath / file).read_text()


def test_names_of_faults_differ():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
